// Formats the results of hostile frames as text: the last line is the verdict. Sends nothing.
import type { GatewayFrame } from "../../../../shared/protocol/frames.ts";
import { memoryOf } from "../verdict.ts";
import type { WireEnd } from "./wire-socket.ts";

export interface FramePlan {
  frames: number;
  /** The seed, which determines the frames together with their indexes. */
  seed: number;
  /** The index of the first frame that this run sends. */
  from: number;
}

/** The result of one hostile frame, or of several at once. */
export interface Outcome {
  heard: readonly GatewayFrame[];
  pongs: number;
  /** The way in which the socket ended. null if the socket is open. */
  ended: WireEnd | null;
  /** The HTTP status of the answer, if the hostile input was a request; absent for a frame. */
  status?: number;
  /** true if no answer and no end of the socket came in time. */
  isLate: boolean;
}

export interface FrameOffence {
  what: "accepted" | "5xx" | "no answer";
  index: number;
  text: string;
}

export interface FrameVerdict {
  plan: FramePlan;
  /** The number of sent WebSocket messages, pings included, and of sent requests by HTTP. */
  sent: number;
  /** The number of generated frames that were not sent because they were still valid. */
  discarded: number;
  sockets: { accepted: number; unaccepted: number };
  /**
   * The number of frames that reached the gateway; `late` is how many of these came after the gateway had closed
   * the socket.
   */
  arrived: number;
  late: number;
  kinds: Map<string, Map<string, number>>;
  offences: FrameOffence[];
  /** The rounds with more written rows than the ends of sockets cause, or with requests to the apiserver. */
  disturbances: { from: number; to: number; rows: number; asks: number }[];
  /** The number of written rows beyond those that the ends of accepted sockets cause. */
  rows: number;
  /**
   * The number of accepted sockets that hostile frames have ended. `rowsOfAnEnd` is measured at a socket that its
   * machine ends.
   */
  ended: number;
  rowsOfAnEnd: number;
  /** The number of requests to the apiserver: renewals of leases, and all requests. */
  renewals: number;
  asked: number;
  objectsMade: number;
  /** The number of accepted heartbeats of machines that are not attacked. */
  beats: number;
  /** The memory of workerd in bytes, after each round. */
  residentBytes: number[];
}

const SHOWN = 20;
const TEXT_LENGTH = 2000;
const MIB = 2 ** 20;
/** The reasons that a gateway may give for a heartbeat that it does not accept. */
const REFUSALS = ["no session", "not fresh"];
const CLOSED = ["bad frame", "too often", "no report"];

/** Returns the answer's text for the table, and the offence. `what` is null if the answer is no offence. */
export function judge(outcome: Outcome): { words: string; what: FrameOffence["what"] | null } {
  const { heard, pongs, ended, status, isLate } = outcome;
  if (status !== undefined) return { words: `HTTP ${status}`, what: ofStatus(status) };
  const words = heard.map(wordsOf);
  const offences = heard.map(ofFrame);
  const what = offences.find((each) => each !== null) ?? (isLate ? "no answer" : null);
  const isCut = ended !== null && !heard.some(({ type }) => type === "closing");
  const last = [
    ...(pongs > 0 ? ["pong"] : []),
    ...(isCut ? [`cut, ${ended.code}`] : []),
    ...(isLate ? ["nothing"] : []),
  ];
  return { words: [...new Set([...words, ...last])].join(" + "), what };
}

function wordsOf(frame: GatewayFrame): string {
  if (frame.type === "again" || frame.type === "closing") return `${frame.type} ${frame.reason}`;
  return frame.type === "report-answer" ? `report ${frame.status}` : frame.type;
}

function ofFrame(frame: GatewayFrame): FrameOffence["what"] | null {
  if (frame.type === "report-answer") return ofStatus(frame.status);
  const refusals = frame.type === "again" ? REFUSALS : frame.type === "closing" ? CLOSED : [];
  return "reason" in frame && refusals.includes(frame.reason) ? null : "accepted";
}

function ofStatus(status: number): FrameOffence["what"] | null {
  if (status >= 500) return "5xx";
  return status >= 400 ? null : "accepted";
}

export function offenceText(kind: string, words: string, shot: object): string {
  return `${words} to ${kind}: ${JSON.stringify(shot)}`.slice(0, TEXT_LENGTH);
}

const count = ({ offences }: FrameVerdict, what: FrameOffence["what"]) =>
  offences.filter((offence) => offence.what === what).length;

export function areFramesClean(verdict: FrameVerdict): boolean {
  const { offences, rows, asked, objectsMade, residentBytes, sockets, beats } = verdict;
  const isQuiet = offences.length === 0 && rows === 0 && asked + objectsMade === 0;
  return isQuiet && sockets.accepted + sockets.unaccepted > 0 && beats > 0 && memoryOf(residentBytes).isFlat;
}

/**
 * Returns the lines of the verdict. The last one is `accepted 0, 5xx 0, rows 0, renewals 0` if the frames had no
 * effect.
 */
export function frameVerdictText(verdict: FrameVerdict): string {
  const { sent, discarded, sockets, arrived, late, rows, ended, rowsOfAnEnd, asked, objectsMade, beats } =
    verdict;
  return [
    ...kindLines(verdict),
    ...offenceLines(verdict),
    `${sent} sent on ${sockets.accepted} accepted and ${sockets.unaccepted} unaccepted sockets, ${discarded} discarded as still valid`,
    `${arrived} reached the gateway, ${late} of them after it had closed their socket; ${beats} heartbeats of machines beside them taken`,
    `${ended} accepted sockets ended, with ${rowsOfAnEnd} rows each, as where a machine ends its own; beyond those ${rows}`,
    `no answer ${count(verdict, "no answer")}, objects made ${objectsMade}, apiserver asked ${asked}, memory ${memoryText(verdict)}`,
    `accepted ${count(verdict, "accepted")}, 5xx ${count(verdict, "5xx")}, rows ${rows}, renewals ${verdict.renewals}`,
    "",
  ].join("\n");
}

function memoryText({ residentBytes }: FrameVerdict): string {
  const at = (part: number) => residentBytes[Math.max(0, Math.ceil(part * residentBytes.length) - 1)] ?? 0;
  const mebibytes = (part: number) => `${Math.round(at(part) / MIB)} MiB`;
  const text = `${mebibytes(0.1)} at 10 %, ${mebibytes(0.5)} at 50 %, ${mebibytes(1)} at the end`;
  return memoryOf(residentBytes).isFlat ? text : `${text}, which is not flat`;
}

function kindLines({ kinds }: FrameVerdict): string[] {
  const width = Math.max(0, ...[...kinds.keys()].map((kind) => kind.length));
  return [...kinds].map(([kind, answers]) => {
    const sorted = [...answers].sort(([a], [b]) => (a < b ? -1 : 1));
    return `${kind.padEnd(width)}  ${sorted.map(([answer, times]) => `${answer} × ${times}`).join(", ")}`;
  });
}

/** Returns a line for each offence, with the command that sends the frame again. */
function offenceLines({ plan, offences, disturbances }: FrameVerdict): string[] {
  const again = (from: number, frames: number) =>
    `npm run hostile -- --seed ${plan.seed} --from ${from} --frames ${frames}`;
  return [
    ...offences.slice(0, SHOWN).map(({ what, index, text }) => `${what}: ${again(index, 1)}\n  ${text}`),
    ...disturbances
      .slice(0, SHOWN)
      .map(({ from, to, rows, asks }) => `rows ${rows}, apiserver asked ${asks}: ${again(from, to - from)}`),
  ];
}
