// Runs npm start: an apiserver, the Worker, this machine's shim, and a live table of the Nodes. Ctrl-C ends all.
import { every } from "../../node-shim/base/clock.ts";
import { terminal } from "../operator/confirm.ts";
import { runStart } from "./start-program.ts";

const { stdout, stderr } = process;
const PARENT_CHECK_MS = 1000;

/** Calls the listener also if npm, which runs this program, is killed: npm then passes no signal on. */
function onSignal(signal: NodeJS.Signals, listener: () => void): void {
  process.on(signal, listener);
  if (signal !== "SIGHUP" || process.env["npm_lifecycle_event"] === undefined) return;
  const npm = process.ppid;
  every(PARENT_CHECK_MS, () => {
    if (process.ppid !== npm) listener();
  });
}

process.exit(await runStart(process.argv.slice(2), { stdout, stderr, terminal, onSignal }));
