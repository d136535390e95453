"""benchmarks/results.py: the page of results is made of what the certificates say."""

import json

import pytest
from text_cases import refuses

from agents import TRAINABLE, presets
from apps.players.seat import VALUES_FOLDER
from benchmarks.results import PACKAGED, PAGE, SETTINGS, put
from benchmarks.trained import pack
from tictactoe_env import RandomPolicy, Rules
from tictactoe_env.certificates.certificate import certify
from tictactoe_env.certificates.trained import facts_of, trained_names, unpack


def test_every_agent_and_every_preset_on_3x3_is_an_entry():
    expected = {(agent, None) for agent in TRAINABLE}
    for agent in TRAINABLE:
        known = presets(agent).items()
        expected |= {(agent, name) for name, one in known if "rows" not in one.options}
    assert {(setting.agent, setting.preset) for setting in SETTINGS} == expected


def test_the_page_has_a_row_of_each_trained_player_of_the_package_and_a_new_one_takes_its_place():
    page = PAGE.read_text(encoding="utf-8")
    names = [setting.name for setting in PACKAGED]
    assert {*names} == {*trained_names()}
    for name in names:
        assert page.count(f"\n| {name} | ") == 1, name
    changed = put(page, "agents", [["dqn", "0 of 10"]])
    (row,) = {*changed.splitlines()} - {*page.splitlines()}
    assert (row, changed.count("\n| dqn | ")) == ("| dqn | 0 of 10 |", 1)
    with refuses("nothing"):
        put(page, "nothing", [])


@pytest.mark.parametrize("setting", PACKAGED, ids=lambda setting: setting.name)
def test_the_trained_agent_of_the_package_has_the_configuration_of_today(setting):
    facts = facts_of(setting.name)
    seed = facts.stated.seed
    default, wanted = (dict(one) for one in (setting.module.Config(), setting.config(seed)))
    default, wanted = (json.loads(json.dumps(config)) for config in (default, wanted))
    made = {name: value for name, value in facts.stated.config.items() if name in default}
    assert {**default, **made} == wanted
    has_values = (VALUES_FOLDER / f"{setting.name}.npz").exists()
    config = setting.config(seed)
    player = setting.module.player(config, setting.module.begin(config).model())
    assert has_values == hasattr(player, "own")


def test_a_certificate_of_3x3_is_packed_and_unpacked():
    content = certify(RandomPolicy(), "nobody")
    assert unpack(pack(content)) == content
    with refuses("3x3", "2x3"):
        pack(certify(RandomPolicy(), "nobody", Rules(2, 3, 2)))
