import { showBoard } from "./board.js";
import { readBoard } from "./records.js";

const EVERY = 30_000;

async function refresh(target: HTMLElement, source: string): Promise<void> {
  const answer = await fetch(source, { cache: "no-store" });
  if (!answer.ok) {
    target.dataset.problem = `the harbour answered ${answer.status}`;
    return;
  }
  const outcome = readBoard(await answer.text());
  if (!outcome.settled) {
    target.dataset.problem = outcome.reason;
    return;
  }
  delete target.dataset.problem;
  showBoard(target, outcome.value, new Date());
}

const target = document.getElementById("board");
if (target !== null) {
  const source = target.dataset.source ?? "board.json";
  void refresh(target, source);
  setInterval(() => void refresh(target, source), EVERY);
}
