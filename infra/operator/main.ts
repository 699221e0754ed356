// npm run rollcall: the operator's command line. Runs the command that is asked for; knows none of them.
import { runCommandLine } from "./command-line.ts";
import { terminal } from "./confirm.ts";

await runCommandLine(process.argv.slice(2), { process, terminal });
