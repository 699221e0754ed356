// What a local cluster is started with: flags, folders, and the parts that run.
import type { Parts } from "./parts.ts";
import type { State } from "./settings.ts";

export interface StartFlags {
  state: string;
  fresh?: boolean;
  kubeconfig?: string;
  config?: string;
  nodes: number;
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
}
