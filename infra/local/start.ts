// Runs npm start: an apiserver, the Worker, this machine's shim, and a live table of the Nodes. Ctrl-C ends all.
import { terminal } from "../operator/confirm.ts";
import { runStart } from "./start-program.ts";

const { stdout, stderr } = process;
const onSignal = (signal: NodeJS.Signals, listener: () => void) => process.on(signal, listener);
process.exit(await runStart(process.argv.slice(2), { stdout, stderr, terminal, onSignal }));
