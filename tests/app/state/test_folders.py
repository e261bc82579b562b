"""Which model completes in which folder, and the list of all folders."""

from __future__ import annotations

import pytest

from app.data.settings_file import MOST_FOLDERS
from app.state.choices import usual_model
from app.state.completion import CompletionController
from app.state.settings import Settings
from app.values.completion import IN_TRAINING, STARTER, ModelChoice
from tests.app.played_jobs import PlayedJobs
from tests.app.state.program import write_repository

GENERAL = ModelChoice(STARTER, "Built-in")
STRONGER = ModelChoice("smollm2", "SmolLM2")


@pytest.fixture
def settings(qapp, tmp_path):
    return Settings(tmp_path / "data")


@pytest.fixture
def folders(tmp_path):
    """Two folders that have nothing to do with each other, and one inside the first."""
    made = [tmp_path / name for name in ("orbit", "notes", "orbit/services/beam")]
    for each in made:
        each.mkdir(parents=True)
    return [str(each) for each in made]


def of(folder: str, id: str) -> ModelChoice:
    return ModelChoice(id, id, folder=folder)


def test_the_usual_model_is_the_nearest(folders):
    orbit, notes, beam = folders
    choices = (GENERAL, STRONGER, of(orbit, "new"), of(orbit, "old"), of(beam, "inner"))
    assert usual_model(choices, orbit, "smollm2") == "new"
    assert usual_model(choices, beam, "smollm2") == "inner"
    assert usual_model(choices[:-1], beam, "smollm2") == "new"  # of the folder that it lies in
    assert usual_model(choices, notes, "smollm2") == "smollm2"
    assert usual_model(choices, notes, "new") == STARTER  # adapted to another folder
    assert usual_model(choices[2:], notes, "old") == "new"  # better than none
    assert usual_model(choices, "", "old") == "old" and usual_model((), notes, "x") == "x"
    assert usual_model((ModelChoice(IN_TRAINING, "t"), GENERAL), notes, "x") == STARTER


def test_every_folder_has_its_own_model(settings, folders):
    orbit, notes, _ = folders
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((GENERAL, STRONGER, of(orbit, "o1"), of(notes, "n1")))
    completion.on_folder(orbit)
    assert completion.model == "o1"
    completion.choose_model("smollm2")
    completion.on_folder(notes)
    assert completion.model == "n1" and completion.model_in(orbit) == "smollm2"
    completion.on_folder(orbit)
    assert completion.model == "smollm2"
    settings.save()
    again = CompletionController(Settings(settings.path.parent), PlayedJobs())
    again.on_folder(orbit)
    again.on_choices((GENERAL, STRONGER, of(orbit, "o1")))
    assert again.model == "smollm2"


def test_a_new_checkpoint_does_not_replace_the_model_in_use(settings, folders):
    orbit, notes, _ = folders
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((GENERAL,))
    completion.on_folder(orbit)
    completion.on_choices((GENERAL, of(orbit, "o1")))
    assert completion.model == STARTER  # until it is chosen
    completion.on_folder(notes)
    completion.on_folder(orbit)
    assert completion.model == STARTER == completion.model_in(orbit)
    completion.choose_model("o1", orbit)
    assert completion.model == "o1" and settings.folder_models == {orbit: "o1"}


def test_a_model_chosen_for_another_folder_waits_there(settings, folders):
    orbit, notes, _ = folders
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((GENERAL, of(orbit, "o1")))
    completion.on_folder(notes)
    completion.choose_model("o1", orbit)
    assert completion.model == STARTER == settings.model and completion.model_in(orbit) == "o1"


def test_a_deleted_model_gives_way_to_the_usual_one(settings, folders):
    orbit, *_ = folders
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((GENERAL, of(orbit, "o2"), of(orbit, "o1")))
    completion.on_folder(orbit)
    completion.choose_model("o1")
    completion.on_choices((GENERAL, of(orbit, "o2")))
    assert completion.model == "o2"


def test_the_model_in_training_does_not_go_along_to_another_folder(settings, folders):
    orbit, notes, _ = folders
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((GENERAL,))
    completion.on_folder(orbit)
    completion.on_training(True)
    completion.choose_model(IN_TRAINING)
    completion.on_folder(notes)
    assert completion.model == STARTER


def test_only_so_many_folders_are_remembered(settings, folders):
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((GENERAL,))
    for number in range(MOST_FOLDERS + 1):
        completion.choose_model(STARTER, f"/folder{number}")
    kept = list(settings.folder_models)
    assert len(kept) == MOST_FOLDERS and kept[0] == "/folder1" and kept[-1] == f"/folder{MOST_FOLDERS}"


def test_the_list_has_every_folder_that_was_read(program, with_starter, repository, tmp_path):
    one, other = program(), write_repository(repository / "inner", 3)
    one.open(repository)
    one.until(lambda: one.state.folders.rows)
    one.open(other)
    one.until(lambda: len(one.state.folders.rows) == 2 and one.state.folders.rows[0].root == str(other))
    inner, outer = one.state.folders.rows
    assert (inner.files, outer.files) == (3, 10) and outer.tokens > inner.tokens > 0 and outer.nbytes > inner.nbytes
    assert inner.is_there and one.state.folders.around(str(other)) == str(repository)
    assert one.state.folders.around(str(repository)) == "" == one.state.folders.around("")
    assert one.state.folders.model(str(other)).name == "Built-in model"
    one.state.repository.delete_kept(str(repository))
    one.until(lambda: [row.root for row in one.state.folders.rows] == [str(other)])


def test_a_folder_of_an_older_version_is_listed_without_its_size(program, tmp_path):
    one = program(start=False)
    one.state.settings.reopen = False
    one.state.settings.recent_folders = [str(tmp_path), str(tmp_path / "gone")]
    one.start()
    one.state.folders.refresh()
    one.until(lambda: one.state.folders.rows)
    assert [(row.root, row.files, row.is_there) for row in one.state.folders.rows] == [
        (str(tmp_path), None, True),
        (str(tmp_path / "gone"), None, False),
    ]
