// How a run got stronger: its losses against random moves over the steps of its training.

import { html, markIcon } from "./dom.js";
import { capital, compact, percent } from "./words.js";

const [WIDTH, HEIGHT] = [100, 60];

/** A chart for each side, or null if there is no record of the training. */
export function growthChart(steps, sides, unit) {
  if (steps.length < 2) return null;
  const isSampled = steps.some((step) => step.sampled_x || step.sampled_o);
  return html`
    <section class="growth" aria-label="How it grew">
      <h2>How it grew</h2>
      <p>
        <span class="key loss">Losses</span> against random moves during the training, ${isSampled ? "some of them estimated from sampled games" : "each computed exactly"}.
      </p>
      <div class="charts">${sides.map((side) => chart(steps, side, unit))}</div>
    </section>`;
}

function chart(steps, side, unit) {
  const axis = axisOf(steps);
  const name = side.toLowerCase();
  const safe = steps.find((step) => step[`unbeatable_${name}`]);
  const text = safe
    ? `unbeatable for the first time after ${safe.steps.toLocaleString("en")} ${unit}`
    : "not unbeatable at any time";
  const lost = steps.map((step) => step[`${name}_loss`]);
  if (!Math.max(...lost)) return html`
    <figure>
      <figcaption>${markIcon(side)} ${text}. It lost no game against random moves at any of the ${steps.length} checks.</figcaption>
    </figure>`;
  const highest = Math.max(0.01, ...lost);
  const line = steps.map(({ steps }, n) => `${WIDTH * axis(steps)} ${HEIGHT * (1 - lost[n] / highest)}`);
  return html`
    <figure>
      <figcaption>${markIcon(side)} ${text}${safe && " (the dashed line)"}. ${percent(lost[0])} lost at first, ${percent(lost.at(-1))} in the end.</figcaption>
      <div class="plot">
        <div class="axis" aria-hidden="true"><span>${percent(highest)}</span><span>0</span></div>
        <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="loss" d=${`M0 ${HEIGHT}L${line.join("L")}V${HEIGHT}Z`}/>
          <path class="safe" d=${safe ? `M${WIDTH * axis(safe.steps)} 0V${HEIGHT}` : ""}/>
        </svg>
        <div class="ticks" aria-hidden="true">
          <span>${compact(steps[0].steps)}</span><span>${compact(steps.at(-1).steps)}</span>
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
