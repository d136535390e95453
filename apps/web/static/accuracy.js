// How good a player's moves are on the board of Connect Four, judged by the truth when it is asked for.

import { accuracy } from "./data.js";
import { announce, fill, html, patiently } from "./dom.js";
import { boardName, capital, plays, sentences } from "./words.js";

const BOARD = { rows: 6, cols: 7, k: 4, gravity: true };
const ABOUT = sentences(
  "A right move keeps what the position is worth with best play; a best one also wins soonest, or loses latest",
  "Both are known exactly, in games that are played now; positions in which every move is as good do not count",
);

/** The section of a player that plays on this board, unless it is proven there. signal: ends the judging. */
export function accuracySection(agent, signal) {
  const isProven = agent.certificate && agent.boards.length === 1;
  if (!plays(agent, BOARD) || isProven) return null;
  const found = html`<div></div>`;
  const state = html`<p></p>`;
  const judge = async () => {
    try {
      for (let left = 1; left > 0; ) {
        const answer = await patiently(accuracy(agent.id, signal), (time) =>
          fill(state, html`<span class="busy">Playing games and judging its moves …${time}</span>`),
        );
        left = answer.left;
        const verdict = html`<p><strong>${sentences(`The games that it lost prove that it ${answer.verdict}`)}</strong></p>`;
        fill(found, verdict, table(answer.tables));
      }
      fill(state, "The brackets are 95\u00a0% intervals over the games.");
      announce("Its moves are judged.");
    } catch (error) {
      if (!signal.aborted) fill(state, error.message);
    }
  };
  fill(state, html`<button type="button" @click=${judge}>Judge its moves</button>`);
  return html`
    <section>
      <h2>Its moves on ${boardName(BOARD)}</h2>
      <p>${ABOUT}</p>
      ${found}${state}
    </section>`;
}

const table = (tables) => html`
  <div class="scroll" tabindex="0" role="region" aria-label="Its moves">
    <table>
      <thead>
        <tr>
          <th scope="col">plies</th>
          <th scope="col">right, %</th><th scope="col">positions</th>
          <th scope="col">best, %</th><th scope="col">positions</th>
        </tr>
      </thead>
      ${tables.map(({ title, rows }) => html`
        <tbody>
          <tr><th scope="rowgroup" colspan="5">${capital(title)}</th></tr>
          ${rows.map(([plies, ...cells]) => html`<tr><th scope="row">${plies}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
        </tbody>`)}
    </table>
  </div>`;
