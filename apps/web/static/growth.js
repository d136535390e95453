// How a run got stronger: its results against random moves over the steps of its training.

import { html, markIcon } from "./dom.js";
import { capital, percent } from "./words.js";

const [WIDTH, HEIGHT] = [100, 60];

/** A chart for each side, or null if there is no record of the training. */
export function growthChart(steps, sides, unit) {
  if (steps.length < 2) return null;
  const isSampled = steps.some((step) => step.sampled);
  return html`
    <section class="growth" aria-label="How it grew">
      <h2>How it grew</h2>
      <p>
        Its results against random moves during the training, ${isSampled ? "some of them estimated from sampled games" : "each computed exactly"}:
        <span class="key win">wins</span>, <span class="key draw">draws</span> and <span class="key loss">losses</span>.
      </p>
      <div class="charts">${sides.map((side) => chart(steps, side, unit))}</div>
    </section>`;
}

function chart(steps, side, unit) {
  const shares = steps.map((step) => step[side.toLowerCase()]);
  const axis = axisOf(steps);
  const safe = steps.find((step) => step[`unbeatable_${side.toLowerCase()}`]);
  const text = safe
    ? `unbeatable for the first time after ${safe.steps.toLocaleString("en")} ${unit}`
    : "not unbeatable at any time";
  const line = (share) =>
    steps.map(({ steps }, n) => `${WIDTH * axis(steps)} ${HEIGHT * (1 - share(shares[n]))}`);
  const area = (low, high) => `M${[...line(high), ...line(low).reverse()].join("L")}Z`;
  const afterWins = ([win]) => win;
  const afterDraws = ([win, draw]) => win + draw;
  const [first, last] = [shares[0], shares.at(-1)];
  const told = ([win, , loss]) => `${percent(win)} wins and ${percent(loss)} losses`;
  return html`
    <figure>
      <figcaption>${markIcon(side)} ${text}${safe && " (the dashed line)"}. ${told(first)} at first, ${told(last)} in the end.</figcaption>
      <div class="plot">
        <div class="axis" aria-hidden="true"><span>100 %</span><span>50 %</span><span>0</span></div>
        <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="win" d=${area(() => 0, afterWins)}/>
          <path class="draw" d=${area(afterWins, afterDraws)}/>
          <path class="loss" d=${area(afterDraws, () => 1)}/>
          <path class="safe" d=${safe ? `M${WIDTH * axis(safe.steps)} 0V${HEIGHT}` : ""}/>
        </svg>
        <div class="ticks" aria-hidden="true">
          <span>${shortly(steps[0].steps)}</span><span>${shortly(steps.at(-1).steps)}</span>
        </div>
      </div>
      <p class="axis-name">${capital(unit)} of training, on a logarithmic scale</p>
    </figure>`;
}

/**
 * The place of a number of steps on the axis, from 0 to 1. A player changes most at the beginning,
 * so the axis is logarithmic; the first check stands for the unit, because there may be a row of 0.
 */
function axisOf(steps) {
  const [first, last] = [steps[0].steps, steps.at(-1).steps];
  const unit = first || steps[1].steps || 1;
  const scaled = (count) => Math.log(count / unit + (first ? 0 : 1));
  const [low, high] = [scaled(first), scaled(last)];
  return (count) => (high > low ? (scaled(count) - low) / (high - low) : 0);
}

/** "8,192", "20 million": short enough for a tick. */
const shortly = (count) =>
  count < 1e6
    ? count.toLocaleString("en")
    : `${(count / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })}\u00a0million`;
