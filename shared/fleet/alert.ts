// Makes alerts about machines, and messages in a receiver's format: rollcall's JSON, Slack's, or Alertmanager's.
import type { MessageFormat } from "../protocol/receiver-api.ts";
import { machineLink, notificationsLink, outageLink } from "./page-links.ts";
import type { FleetState } from "./state.ts";

/** A state that causes an alert. `ready` ends an alert; the registry itself reports machines in the state `pending`. */
export type AlertState = Exclude<FleetState, "ready" | "pending">;

/** An alert about one machine in a state, or about all machines that are in the state for one cause. */
export interface Alert {
  /** The alert's ID. The alert's repetitions and its resolution have the same ID. */
  id: string;
  status: "firing" | "resolved";
  /** true if the alert is still firing and an earlier message has already reported it. */
  isRepeated: boolean;
  /** `cluster`: machines report, but the Worker cannot write to the apiserver. */
  kind: "machine" | "outage" | "cluster";
  /** The machine's name, the outage's ID, or the deployment, depending on `kind`. */
  name: string;
  state: AlertState;
  /** `critical` for the kinds `cluster` and `outage`. */
  severity: "critical" | "warning";
  sinceMs: number;
  /** The time at which the alert ended, in milliseconds since 1970; null while it is firing. */
  untilMs: number | null;
  /** The number of affected machines, as far as known; in a resolution, of all machines that the alert had. */
  machines: number;
  /** The names of the first affected machines. */
  names: string[];
  /** The address that the machines report from; "" if it is unknown, or the machines have several. */
  address: string;
  /** The reason for the alert, "" if not known; in the resolution of a machine's alert, the machine's present state. */
  why: string;
  /** What the machine answered to the question `diagnosis`; absent if the Worker did not ask for it. */
  diagnosis?: MachineDiagnosis;
}

/** The beginning of a machine's diagnosis. The machine chose the words, in which control characters are visible. */
export interface MachineDiagnosis {
  /** The machine's findings, the worst first. */
  findings: string[];
  /** Why there are no findings; "" if there are some. */
  none: string;
}

/** The message of one request to a receiver. */
export interface AlertMessage {
  /** The message's ID, which is equal in all attempts to deliver the message. */
  id: string;
  deployment: string;
  /** The Worker's URL for operators, as https://rollcall.example.com; "" if not configured. */
  origin: string;
  receiver: string;
  atMs: number;
  /** The number of messages to this receiver that were deleted without being delivered. */
  dropped: number;
  /** The alerts, oldest first: a machine's resolution comes before its next alert. */
  alerts: Alert[];
}

/** Returns the body of the request, as JSON in the receiver's format. */
export function messageText(format: MessageFormat, message: AlertMessage): string {
  return JSON.stringify(FORMATS[format](message));
}

const FORMATS: Record<MessageFormat, (message: AlertMessage) => unknown> = {
  json: ourJson,
  slack,
  alertmanager,
};

/** Returns the body of a test, which has no machine and no state. `test.alerts` must be empty. */
export function testText(format: MessageFormat, test: AlertMessage): string {
  return JSON.stringify(TESTS[format](test));
}

const TESTS: typeof FORMATS = {
  json: (test) => ({
    ...ourJson(test),
    isTest: true,
    text: testLine(test),
    page: notificationsLink(test.origin),
  }),
  slack: (test) => slackText([linked(`:white_circle: ${testLine(test)}`, notificationsLink(test.origin))]),
  alertmanager: (test) => {
    const { deployment, origin, atMs } = test;
    const page = notificationsLink(origin);
    return [
      {
        labels: { alertname: "RollcallTest", deployment, severity: "none" },
        annotations: { summary: testLine(test), ...(page !== "" && { page }) },
        startsAt: rfc3339(atMs),
        endsAt: rfc3339(atMs + TEST_LASTS_MS),
        generatorURL: page,
      },
    ];
  },
};

/** The time after which Alertmanager ends a test: long enough for the default group_wait of 30 s. */
const TEST_LASTS_MS = 5 * 60_000;

const testLine = ({ deployment, receiver }: AlertMessage) =>
  `Test from rollcall ${deployment} to the receiver ${receiver}: nothing is wrong.`;

/** The version of rollcall's JSON. The number increases when a field changes its meaning. */
const VERSION = 1;

function ourJson({ atMs, alerts, origin, ...message }: AlertMessage): object {
  return {
    version: VERSION,
    ...message,
    at: rfc3339(atMs),
    alerts: alerts.map((alert) => {
      const { sinceMs, untilMs, ...said } = alert;
      const times = { since: rfc3339(sinceMs), until: untilMs === null ? null : rfc3339(untilMs) };
      return {
        ...said,
        ...times,
        text: textOf(alert),
        url: urlOf(origin, alert),
        page: pageOf(origin, alert),
      };
    }),
  };
}

/** The most characters of a section. Slack refuses longer sections, and messages with too many sections. */
const SLACK_SECTION = 3000;
const SLACK_TEXT = 4000;

/**
 * Returns Slack's message: a section per alert, at most 50. https://api.slack.com/reference/block-kit/blocks
 * A machine's text becomes no link: `verbatim` stops Slack, and `[:]//` stops receivers that show only `text`.
 */
function slack({ alerts, origin }: AlertMessage): unknown {
  const lines = alerts.map((alert) => {
    const ended = isOver(alert) ? ":white_check_mark:" : ":large_yellow_circle:";
    const sign = alert.status === "resolved" ? ended : ":red_circle:";
    const text = [textOf(alert), ...diagnosisLines(alert)]
      .join("\n")
      .replaceAll("://", "[:]//")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;");
    return linked(`${sign} ${text}`, pageOf(origin, alert));
  });
  return slackText(lines);
}

/** Adds a link to a line. The link is added after the line is cut, because a cut link does not work. */
function linked(line: string, page: string): string {
  const link = page === "" ? "" : ` <${page}|page>`;
  return cut(line, SLACK_SECTION - link.length) + link;
}

function slackText(lines: readonly string[]): unknown {
  const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text, verbatim: true } });
  return { text: wholeLines(lines, SLACK_TEXT), blocks: lines.map(section) };
}

/** The time to an alert's provisional end; without an end, Alertmanager resolves the alert after five minutes. */
const UNTIL_RESOLVED_MS = 365 * 24 * 3600 * 1000;

/** Returns the body of POST /api/v2/alerts. An alert and its resolution have the same labels. */
function alertmanager({ alerts, deployment, origin, atMs }: AlertMessage): unknown {
  return alerts.map((alert) => {
    const { kind, name, state, severity, sinceMs, untilMs, why, names, address } = alert;
    const alertname = { machine: "RollcallMachine", outage: "RollcallOutage", cluster: "RollcallCluster" }[
      kind
    ];
    const subject = kind === "cluster" ? {} : { [kind]: name };
    const page = pageOf(origin, alert);
    return {
      labels: { alertname, deployment, ...subject, state, severity },
      annotations: {
        summary: textOf(alert),
        ...(why !== "" && { description: why }),
        ...(alert.diagnosis && { diagnosis: diagnosisLines(alert).join("\n") }),
        ...(names.length > 0 && kind !== "machine" && { machines: names.join(" ") }),
        ...(address !== "" && { address }),
        ...(page !== "" && { page }),
      },
      startsAt: rfc3339(sinceMs),
      endsAt: rfc3339(untilMs ?? atMs + UNTIL_RESOLVED_MS),
      generatorURL: page,
    };
  });
}

/** Reports whether an ended alert ended well. A machine in another bad state, or of another selector, is not well. */
const isOver = ({ kind, why }: Alert) => kind !== "machine" || why === "ready" || why === "gone";

/** Describes an alert in one line. */
export function textOf(alert: Alert): string {
  const { kind, name, state, machines, names, address, why, sinceMs, untilMs } = alert;
  const count = `${machines} ${machines === 1 ? "machine" : "machines"}`;
  const listed = names.length === 0 ? "" : `: ${names.join(", ")}${machines > names.length ? ", …" : ""}`;
  const was = untilMs !== null;
  if (was && kind === "machine" && why === state)
    return `Changed: ${name} is still ${state} since ${rfc3339(sinceMs)}, and no longer matches this receiver`;
  const what = {
    machine: `${name} ${was ? "was" : "is"} ${state}`,
    outage: `Outage: ${count}${address === "" ? "" : ` behind ${address}`} ${was ? "were" : "are"} silent`,
    cluster: `The cluster ${was ? "could not" : "cannot"} be written, ${was ? "for" : "as far as is known for"} ${count}`,
  }[kind];
  const when = was
    ? `, for ${durationText(untilMs - sinceMs)}, until ${rfc3339(untilMs)}`
    : ` since ${rfc3339(sinceMs)}`;
  const more =
    kind === "machine"
      ? why === ""
        ? ""
        : was
          ? `; now it is ${why}`
          : `: ${why}`
      : `${listed}${why && ` (${why})`}`;
  const ended = isOver(alert) ? "Over: " : "Changed: ";
  return `${was ? ended : ""}${what}${when}${more}`;
}

/** Returns lines that mark the findings as the machine's own words. */
function diagnosisLines({ diagnosis }: Alert): string[] {
  if (!diagnosis) return [];
  const { findings, none } = diagnosis;
  return findings.length === 0 ? [`No diagnosis: ${none}.`] : ["The machine's own words:", ...findings];
}

function urlOf(origin: string, { kind, name }: Alert): string {
  if (origin === "") return "";
  return {
    machine: `${origin}/v1/nodes/${name}`,
    outage: `${origin}/v1/outages`,
    cluster: `${origin}/readyz`,
  }[kind];
}

/** Returns the link to the alert on the page; "" if the origin is not configured. */
function pageOf(origin: string, { kind, name }: Alert): string {
  if (origin === "") return "";
  return { machine: machineLink(origin, name), outage: outageLink(origin, name), cluster: `${origin}/` }[
    kind
  ];
}

/** Formats a duration with its two largest units: `2 h 5 min`, `5 min 3 s`. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([number]) => number > 0)
    .map(([number, unit]) => `${number} ${unit}`)
    .join(" ");
}

const rfc3339 = (ms: number) => new Date(ms).toISOString();

const cut = (text: string, length: number) =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;

/** Joins as many whole lines as fit into `length`: a cut link does not work. */
function wholeLines(lines: readonly string[], length: number): string {
  let text = "";
  for (const line of lines) {
    const more = text === "" ? line : `${text}\n${line}`;
    // The last line "…" needs two characters, with its line break.
    if (more.length > length - 2) return `${text}\n…`;
    text = more;
  }
  return text;
}
