// The exact results of a certificate, as a table with bars.

import { html, markIcon } from "./dom.js";
import { SIDES, boardName, sentences, signed } from "./words.js";

const OPPONENTS = { vs_random: "random moves", vs_minimax: "perfect play" };
const RATES = { win: "wins", draw: "draws", loss: "losses" };

/** trained: the sides that the agent was trained for. */
export function resultsTable(certificate, trained) {
  const part = (side) => certificate[`as_${side.toLowerCase()}`];
  // The side that it was trained for comes first.
  const sides = [...new Set([...trained, ...SIDES])].filter(part);
  const untrained = (side) => (trained.includes(side) ? "" : " (not trained for)");
  const row = (side, name) => {
    const { [name]: rates, limit_vs_random: limit } = part(side);
    return html`
      <tr>
        <th scope="row">${markIcon(side)} against ${OPPONENTS[name]}${untrained(side)}</th>
        ${Object.keys(RATES).map((key) => html`<td>${exact(rates[key])}</td>`)}
        <td class="bars">${bars(rates, name === "vs_random" ? limit?.win : undefined)}</td>
      </tr>`;
  };
  const rows = sides.flatMap((side) =>
    Object.keys(OPPONENTS).filter((name) => part(side)[name]).map((name) => row(side, name)),
  );
  const limits = sides
    .filter((side) => part(side).limit_vs_random)
    .map((side) => `${exact(part(side).limit_vs_random.win)}\u00a0% as ${side}`);
  const text = sentences(
    `On ${boardName(certificate.board)}, in per cent. Computed over all games that there can be: nothing is sampled`,
    limits.length && `The line on a bar marks the most wins of any player that never loses: ${limits.join(", ")}`,
    sides.some((side) => part(side).vs_random.illegal > 0) && "Illegal moves are among the losses",
  );
  const best = certificate.optimal_moves;
  return html`
    <section>
      <h2>Exact results</h2>
      <p>${text}</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Exact results">
        <table>
          <thead>
            <tr>
              <th scope="col">Playing as</th>
              ${Object.entries(RATES).map(([name, text]) => html`<th scope="col" class=${`key ${name}`}>${text}</th>`)}
              <td class="bars"></td>
            </tr>
          </thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
      <ul class="worst">
        ${sides.map((side) => html`<li>As ${side}${untrained(side)} it ${worst(part(side))}</li>`)}
        ${best && html`<li>It finds a best move in ${exact(best.reachable)} % of the positions that it can reach, and in ${exact(best.everywhere)} % of all positions.</li>`}
      </ul>
    </section>`;
}

/** The result of a player against the opponent that is worst for it. */
function worst({ unbeatable, worst_case_value: value, worst_case_loss: loss, vs_random: random, vs_minimax: perfect, limit_vs_random: limit }) {
  if (unbeatable) return `${value > 0 ? "beats" : "draws against"} even the strongest opponent.`;
  const games = exact(loss) === "100" ? "every game" : `${exact(loss)}\u00a0% of its games (wins minus losses: ${signed(value)})`;
  const isDaring = limit && random.win > limit.win + 1e-9;
  const yet = ", though it wins more often against random moves than any player can that never loses";
  const unknown = perfect?.draw > 1 - 1e-9 ? "; perfect play only draws: it doesn’t look for weaknesses" : "";
  return `loses ${games} against an opponent that knows its weakness${isDaring ? yet : ""}${unknown}.`;
}

/** Per cent with two digits; a whole number only where the share is exactly nothing or all. */
export function exact(share) {
  const near = Math.round(share);
  return Math.abs(share - near) < 1e-9 ? String(100 * near) : (100 * share).toFixed(2);
}

function bars(rates, limit) {
  const bar = (name, number, all) => {
    const element = html`<span class=${number === all.length - 1 ? `${name} end` : name}></span>`;
    element.style.flexGrow = rates[name];
    return element;
  };
  const tick = html`<span class="tick"></span>`;
  tick.style.insetInlineStart = `${100 * limit}%`;
  const shown = Object.keys(RATES).filter((name) => rates[name] > 0);
  return html`
    <span class="stack" aria-hidden="true">${shown.map(bar)}${limit !== undefined && tick}</span>`;
}
