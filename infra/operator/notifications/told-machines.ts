// The flags that say of which machines, and of which states, a receiver is told or a mute keeps quiet. What they are worth
// is the Worker's to say.
import type { Command } from "commander";

export interface ToldFlags {
  selector?: string;
  names?: string;
  state?: string;
}

export function withToldFlags(command: Command): Command {
  return command
    .option("-l, --selector <selector>", "machines with these labels, as kubectl's -l: site=b,tier!=gpu")
    .option(
      "--names <pattern>",
      "machines of this name, or of a pattern: * stands for anything without a dot",
    )
    .option("--state <states>", "these states: not-ready,silent,cluster-unreachable,blocked,revoked");
}

/** Which flag says what of the request's body. */
export const TYPED_TOLD = { selector: "--selector", names: "--names", states: "--state" };

/** Those that were given. */
export const toldOf = ({ selector, names, state }: ToldFlags) => ({
  ...(selector !== undefined && { selector }),
  ...(names !== undefined && { names }),
  ...(state !== undefined && { states: state.split(",") }),
});

/** `site=b edge-*`; all: neither is there. */
export const machinesOf = ({ selector, names }: { selector: string; names: string }) =>
  [selector, names].filter((text) => text !== "").join(" ") || "all";
