// rollcall completion SHELL: what a shell loads.
import { Argument } from "commander";
import type { OperatorProgram } from "../operator-program.ts";
import { completionScript, type Shell, SHELLS } from "./scripts.ts";

const HELP = `
Load it in the shell's start-up file:
  bash: source <(rollcall completion bash)
  zsh:  source <(rollcall completion zsh)
  fish: rollcall completion fish | source
The Debian package brings all three. As kubectl rollcall, it is completed by kubectl's own.`;

export function completionCommand(program: OperatorProgram): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .description("Print what a shell loads to complete commands, flags and machines' names.")
    .addHelpText("after", HELP)
    .action((shell: Shell) => void program.surroundings.process.stdout.write(completionScript(shell)));
}
