// The exact results of a certificate, as a table with bars.

import { h, markIcon } from "./dom.js";
import { boardName, percent, signed } from "./words.js";

const OPPONENTS = [
  ["vs_random", "random moves"],
  ["vs_minimax", "perfect play"],
];

/** trained: the sides that the agent was trained for. */
export function results(certificate, trained) {
  const sides = certificate.sides ?? ["X", "O"];
  const part = (side) => certificate[`as_${side.toLowerCase()}`];
  const rows = sides.flatMap((side) =>
    OPPONENTS.filter(([name]) => part(side)[name]).map(([name, opponent]) => {
      const rates = part(side)[name];
      const limit = name === "vs_random" ? part(side).limit_vs_random?.win : undefined;
      const untrained = trained.includes(side) ? "" : " (not trained for)";
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, markIcon(side), ` against ${opponent}${untrained}`),
        ["win", "draw", "loss"].map((key) => h("td", {}, exact(rates[key]))),
        h("td", { class: "bars" }, bars(rates, limit)),
      );
    }),
  );
  const head = ["Playing as", "wins", "draws", "losses", ""].map((text) =>
    text ? h("th", { scope: "col" }, text) : h("td", {}),
  );
  const hasLimit = sides.some((side) => part(side).limit_vs_random);
  const isIllegal = sides.some((side) => part(side).vs_random.illegal > 0);
  const texts = [
    `On ${boardName(certificate.board)}, in per cent. Computed over all games that there can be: nothing is sampled.`,
    hasLimit && "The line on a bar marks the most wins of any player that never loses.",
    isIllegal && "Moves on taken cells are among the losses.",
  ];
  return h(
    "section",
    {},
    h("h2", {}, "Exact results"),
    h("p", {}, texts.filter(Boolean).join(" ")),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Exact results" },
      h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    ),
    h(
      "ul",
      { class: "worst" },
      sides.map((side) => {
        const { worst_case_value: value, worst_case_loss: loss, unbeatable } = part(side);
        const text = unbeatable
          ? value > 0
            ? " beats even the strongest opponent."
            : " draws against the strongest opponent."
          : ` loses ${exact(loss)} % of its games against the opponent that is worst for it (wins minus losses: ${signed(value)}).`;
        return h("li", {}, markIcon(side), text);
      }),
      certificate.optimal_moves &&
        h(
          "li",
          {},
          `It finds a best move in ${exact(certificate.optimal_moves.reachable)} % of the positions that it can reach, and in ${exact(certificate.optimal_moves.everywhere)} % of all positions.`,
        ),
    ),
  );
}

/** Per cent with two digits; a whole number only where the share is exactly nothing or all. */
function exact(share) {
  const near = Math.round(share);
  return Math.abs(share - near) < 1e-9 ? String(100 * near) : (100 * share).toFixed(2);
}

function bars(rates, limit) {
  const shares = `wins ${percent(rates.win)}, draws ${percent(rates.draw)}, losses ${percent(rates.loss)}`;
  const most =
    limit === undefined ? "" : `; at most ${percent(limit)} wins are possible without a loss`;
  const element = h(
    "span",
    { class: "stack", role: "img", "aria-label": shares + most },
    ["win", "draw", "loss"].map((name) => {
      const bar = h("span", { class: name });
      bar.style.flexGrow = rates[name];
      return bar;
    }),
  );
  if (limit !== undefined) {
    const tick = h("span", { class: "tick" });
    tick.style.insetInlineStart = `${100 * limit}%`;
    element.append(tick);
  }
  return element;
}
