// The exact results of a certificate, as a table with bars.

import { h, markIcon } from "./dom.js";
import { boardName, percent, signed } from "./words.js";

const OPPONENTS = [
  ["vs_random", "random moves"],
  ["vs_minimax", "perfect play"],
];

/** trained: the sides that the agent was trained for. */
export function results(certificate, trained) {
  // The side that it was trained for comes first.
  const sides = [...new Set([...trained, ...(certificate.sides ?? ["X", "O"])])];
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
    text ? h("th", { scope: "col" }, text) : h("td", { class: "bars" }, legend()),
  );
  const limitOf = (side) => `${exact(part(side).limit_vs_random.win)}\u00a0%`;
  const limited = sides.filter((side) => part(side).limit_vs_random);
  const limits = limited.map((side) => `${limitOf(side)} as ${side}`).join(", ");
  const daring = limited.filter(
    (side) => part(side).vs_random.win > part(side).limit_vs_random.win + 1e-9,
  );
  const isMystery = trained.some((side) => {
    const { unbeatable, vs_minimax: perfect, worst_case_loss: worst } = part(side);
    return !unbeatable && perfect && perfect.loss < worst - 1e-9;
  });
  const isIllegal = sides.some((side) => part(side).vs_random.illegal > 0);
  const texts = [
    `On ${boardName(certificate.board)}, in per cent. Computed over all games that there can be: nothing is sampled.`,
    limits && `The line on a bar marks the most wins of any player that never loses: ${limits}.`,
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
          : ` loses ${shareText(loss, value)} against an opponent that knows its weakness.`;
        const untrained = trained.includes(side) ? "" : " (not trained for this side)";
        return h("li", {}, `As ${side}${untrained} it${text}`);
      }),
      daring.map((side) =>
        h(
          "li",
          {},
          `As ${side} it wins more often than any player that never loses can (${limitOf(side)}), and yet it can be beaten.`,
        ),
      ),
      isMystery &&
        h("li", {}, "Perfect play does not know this weakness, so it wins less often."),
      certificate.optimal_moves &&
        h(
          "li",
          {},
          `It finds a best move in ${exact(certificate.optimal_moves.reachable)} % of the positions that it can reach, and in ${exact(certificate.optimal_moves.everywhere)} % of all positions.`,
        ),
    ),
  );
}

/** What the colours of the bars mean; a screen reader has the numbers beside it. */
const legend = () =>
  h(
    "span",
    { class: "keys-of-bars", "aria-hidden": "true" },
    [
      ["win", "wins"],
      ["draw", "draws"],
      ["loss", "losses"],
    ].map(([name, text]) => h("span", { class: `key ${name}` }, text)),
  );

/** The share of the games that are lost to the worst opponent, exactly. */
function shareText(loss, value) {
  if (exact(loss) === "100") return "every game";
  return `${exact(loss)}\u00a0% of its games (wins minus losses: ${signed(value)})`;
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
    ["win", "draw", "loss"]
      .filter((name) => rates[name] > 0)
      .map((name, number, all) => {
        const bar = h("span", { class: number === all.length - 1 ? `${name} end` : name });
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
