from engine.graph.kernels import *  # noqa
