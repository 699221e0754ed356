// What is said of one machine, and out of what it is said. Types only.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import type { ConditionRow } from "./condition-rows.ts";
import type { ActName } from "./machine-acts.ts";
import type { MachineNeighbours } from "./neighbours.ts";

/** `off`: it is out of use, and nobody has to hurry. */
export type Severity = "good" | "warning" | "bad" | "off";

/** A thing to know beside the sentence: a text, or when something was. */
export interface DiagnosisDetail {
  name: string;
  text?: string;
  /** RFC 3339, or milliseconds since 1970. */
  at?: string | number;
}

export interface DiagnosisWarning {
  text: string;
  /** Commands stand between backticks; "": nothing. */
  todo: string;
  acts: ActName[];
  link?: DiagnosisLink;
}

export type DiagnosisLink = "approvals" | "deployment" | "outage" | "clones" | "history";

export interface MachineDiagnosis {
  /** One of FLEET_STATES; a newer Worker may have more. */
  state: string;
  severity: Severity;
  sentence: string;
  /** Commands stand between backticks, NAME stands for the machine's; "": nothing. */
  todo: string;
  details: DiagnosisDetail[];
  /** What can be done here and now. */
  acts: ActName[];
  link: DiagnosisLink | null;
  /** What is not as it should be besides. */
  warnings: DiagnosisWarning[];
  isConditionWrong: boolean;
}

export interface DiagnosisInput {
  name: string;
  /** As the feed tells it now; null: it has not, or does not know it. */
  live: FeedMachine | null;
  /** All that is known of it, as of the last answer; null: there was none yet. */
  whole: WholeNode | null;
  /** When `whole` came, in milliseconds since 1970; 0: it has not. */
  answeredMs: number;
  neighbours: MachineNeighbours | null;
  /** Does another machine ask for its name? */
  isContested: boolean;
}

/** What the cases below look at. */
export interface DiagnosisFacts extends DiagnosisInput {
  state: string;
  phase: string | null;
  /** Why it is not ready, as the fleet index has it. */
  why: string;
  isUsed: boolean;
  conditions: ConditionRow[];
}
