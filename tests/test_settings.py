"""A TOML file that is wrong is told about by file, line, key and remedy."""

import pytest
from pydantic import BaseModel, ConfigDict, Field

from grailbench.errors import InputError
from grailbench.util import settings


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Wheel(Closed):
    inches: int = 28
    spokes: list[int] = []


class Bicycle(Closed):
    name: str = Field(description="every bicycle has one")
    wheels: list[Wheel] = []
    parts: dict[str, Wheel] = {}


def read(tmp_path, text):
    path = tmp_path / "bicycle.toml"
    path.write_text(text)
    return settings.read(path, Bicycle, remedy="walk")


def test_a_good_file_is_its_model(tmp_path):
    found = read(tmp_path, "name = 'a'\n[[wheels]]\ninches = 26\n[parts.spare]\n")
    assert (found.wheels[0].inches, found.parts["spare"].inches) == (26, 28)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("nam = 'a'", 1, "key 'nam': unknown key, did you mean 'name'?"),
        ("colour = 1", 1, "key 'colour': unknown key, known: name, wheels, parts"),
        ("wheels = []", None, "key 'name': missing; every bicycle has one"),
        ("name = 'a'\nwheels = 3", 2, "key 'wheels': Input should be a valid list, got 3"),
        ("name = 'a'\n[[wheels]]\n[[wheels]]\n\ninchs = 3", 5, "wheels 2, key 'inchs': unknown key, did you mean"),
        ("name = 'a'\nwheels = [{}, {inches = 'x'}]", 2, "wheels 2, key 'inches': "),
        ("name = 'a'\n[[wheels]]\nspokes = [3, 'x']", 3, "wheels 1, key 'spokes': "),
        ("name = 'a'\n[parts]\nspare.inches = 'x'", 3, "key 'parts.spare.inches': "),
        ("name = 3\nnam = 3\n", 2, "key 'nam': unknown key, did you mean 'name'? (and 1 more)"),
        ("name = = 3", 1, "not TOML: "),
        ("name = 'a' # it's\nnam = 3\nparts.a.inches = ''", 2, "key 'nam': unknown key"),
        ("name = 'a'\n[[wheels]]\ninches = 'x'\n[[wheels]]\ninches = 3", None, "wheels 1, key 'inches': "),
        ("nam.a = 3", 1, "key 'nam': unknown key"),
        ("name = 'a'\n[[parts]]\n", 2, "key 'parts': "),
    ],
)  # fmt: skip
def test_a_fault_is_told_by_line_key_and_remedy(tmp_path, text, line, says):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "bicycle.toml"))
    assert caught.value.remedy == "walk"


def test_a_file_that_is_missing_or_no_file_is_an_error(tmp_path):
    for path, says in ((tmp_path / "none.toml", "there is no such file"), (tmp_path, "it is a folder")):
        with pytest.raises(InputError, match=says):
            settings.read(path, Bicycle)
