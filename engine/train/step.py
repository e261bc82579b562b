from engine.model.step import *  # noqa
