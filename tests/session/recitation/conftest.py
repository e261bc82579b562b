from tests.session.recitation.learned_by_heart import *  # noqa: F403  (fixtures)
