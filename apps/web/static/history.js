// The history of a run: which of its policies beats which, as a map of all pairs.

import { html } from "./dom.js";
import { capital, compact } from "./words.js";

/** The map, or null if the run has kept no policies that can be compared. */
export function historyChart(history, unit) {
  if (!history || history.steps.length < 2) return null;
  const { steps, x, said } = history;
  const cells = (isOf) =>
    x.flatMap((row, i) => row.map((value, j) => (isOf(value) ? `M${j} ${i}h1v1h-1z` : ""))).join("");
  const [first, last] = [steps[0], steps.at(-1)].map(compact);
  const isEven = x.flat().every((value) => value === 0);
  if (isEven) return html`
    <section class="growth history" aria-label="Who beats whom">
      <h2>Who beats whom</h2>
      <p>Its ${steps.length} policies draw all games against each other. ${said.join(" ")}</p>
    </section>`;
  return html`
    <section class="growth history" aria-label="Who beats whom">
      <h2>Who beats whom</h2>
      <p>
        Its ${steps.length} policies, each as X against each as O: <span class="key x">X wins</span>,
        or <span class="key o">O wins</span>, paler where only more often; nothing where they draw. Each result is computed exactly.
      </p>
      <div class="charts">
        <figure>
          <figcaption>${said.join(" ")}</figcaption>
          <div class="plot">
            <div class="axis" aria-hidden="true"><span>${first}</span><span>${last}</span></div>
            <svg viewBox=${`0 0 ${steps.length} ${steps.length}`} preserveAspectRatio="none" aria-hidden="true">
              <path class="map-x" d=${cells((value) => value === 1)}/>
              <path class="map-x some" d=${cells((value) => value > 0 && value < 1)}/>
              <path class="map-o" d=${cells((value) => value === -1)}/>
              <path class="map-o some" d=${cells((value) => value < 0 && value > -1)}/>
            </svg>
            <div class="ticks" aria-hidden="true"><span>${first}</span><span>${last}</span></div>
          </div>
          <p class="axis-name">${capital(unit)} of training: of X downwards, of O to the right</p>
        </figure>
      </div>
    </section>`;
}
