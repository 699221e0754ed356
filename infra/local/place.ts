// What a local cluster is started with: flags, folders, and the parts that run.
import type { Parts } from "./parts.ts";
import type { State } from "./settings.ts";

export interface StartFlags {
  state: string;
  fresh?: boolean;
  kubeconfig?: string;
  /** Does not ask before a cluster of the user's own is changed. */
  yes?: boolean;
  /** Takes away from that cluster what a start has put there, and starts nothing. */
  remove?: boolean;
  config?: string;
  nodes: number;
  /** The shim's --transport, of this machine and of the simulated ones. */
  transport?: string;
  apiserverPort?: number;
  workerPort?: number;
}

export interface Place {
  /** The project's root. */
  root: string;
  /** The state folder. */
  folder: string;
  flags: StartFlags;
  state: State;
  parts: Parts;
  /** Says what has been done. */
  progress: (message: string) => void;
  /** Asks the user; throws where the answer is no, or nobody can be asked. */
  confirm: (consequence: string) => Promise<void>;
}
