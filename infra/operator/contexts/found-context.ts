// What a command is given of the Worker that it is for, before anything is read or run. Decides nothing.
import type { SavedContext } from "./config-file.ts";

/** A context that is in force, and what it is called by. */
export interface FoundContext extends Omit<SavedContext, "url"> {
  /** As it was given; originOf has not seen it. */
  url: string;
  /** Where the URL stands: `--url`, `ROLLCALL_URL`, `context prod`. */
  source: string;
  /** Are the environment's secrets meant for it? */
  takesEnvironment: boolean;
}
