// A message in the form that its receiver takes: JSON of our own, Slack's, Alertmanager's. docs/notifications.md has
// examples of each. Asks nobody.
import type { MessageFormat } from "../protocol/receiver-api.ts";
import type { AlertMessage, SaidAlert } from "./alert.ts";
import { machineLink, outageLink } from "./page-links.ts";

/** The body of a request with this message, of the type application/json. */
export function messageText(format: MessageFormat, message: AlertMessage): string {
  return JSON.stringify(FORMATS[format](message));
}

const FORMATS: Record<MessageFormat, (message: AlertMessage) => unknown> = {
  json: ourJson,
  slack,
  alertmanager,
};

/** Of our own JSON; it rises when a field changes its meaning. */
const VERSION = 1;

function ourJson({ atMs, alerts, origin, ...message }: AlertMessage): unknown {
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

/** Of Slack's sections and messages; longer ones are refused. */
const SLACK_SECTION = 3000;
const SLACK_TEXT = 4000;

/** https://api.slack.com/reference/block-kit/blocks: as many sections as alerts, of which a message may have 50. */
function slack({ alerts, origin }: AlertMessage): unknown {
  const lines = alerts.map((alert) => {
    const sign = alert.status === "resolved" ? ":white_check_mark:" : ":red_circle:";
    const text = textOf(alert).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    const page = pageOf(origin, alert);
    // The whole link stays where the text is cut.
    const link = page === "" ? "" : ` <${page}|page>`;
    return cut(`${sign} ${text}`, SLACK_SECTION - link.length) + link;
  });
  const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text } });
  return { text: wholeLines(lines, SLACK_TEXT), blocks: lines.map(section) };
}

/** Alertmanager takes an alert without an end for over after five minutes. */
const UNTIL_RESOLVED_MS = 365 * 24 * 3600 * 1000;

/** The body of POST /api/v2/alerts. Its labels tell alerts apart, so that they are the same when it is over. */
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
        ...(names.length > 0 && kind !== "machine" && { machines: names.join(" ") }),
        ...(address !== "" && { address }),
        ...(page !== "" && { page }),
      },
      startsAt: rfc3339(sinceMs),
      endsAt: rfc3339(untilMs ?? atMs + UNTIL_RESOLVED_MS),
      generatorURL: urlOf(origin, alert),
    };
  });
}

/** In one line, for people. */
export function textOf(alert: SaidAlert): string {
  const { kind, name, state, machines, names, address, why, sinceMs, untilMs } = alert;
  const count = `${machines} ${machines === 1 ? "machine" : "machines"}`;
  const listed = names.length === 0 ? "" : `: ${names.join(", ")}${machines > names.length ? ", …" : ""}`;
  const was = untilMs !== null;
  const what = {
    machine: `${name} ${was ? "was" : "is"} ${state}`,
    outage: `Outage: ${count}${address === "" ? "" : ` behind ${address}`} ${was ? "were" : "are"} silent`,
    cluster: `The cluster ${was ? "could not" : "cannot"} be written, ${was ? "for" : "as far as is known for"} ${count}`,
  }[kind];
  const when = was
    ? `, for ${durationText(untilMs - sinceMs)}, until ${rfc3339(untilMs)}`
    : ` since ${rfc3339(sinceMs)}`;
  const more = kind === "machine" ? (why === "" ? "" : was ? `; now it is ${why}` : `: ${why}`) : listed;
  return `${was ? "Over: " : ""}${what}${when}${more}`;
}

function urlOf(origin: string, { kind, name }: SaidAlert): string {
  if (origin === "") return "";
  return {
    machine: `${origin}/v1/nodes/${name}`,
    outage: `${origin}/v1/outages`,
    cluster: `${origin}/readyz`,
  }[kind];
}

/** Where the page shows it; "": the origin is not configured. */
function pageOf(origin: string, { kind, name }: SaidAlert): string {
  if (origin === "") return "";
  return { machine: machineLink(origin, name), outage: outageLink(origin, name), cluster: `${origin}/` }[
    kind
  ];
}

/** `2 h 5 min`, `5 min 3 s`: its two largest units. */
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

/** As many lines as there is room for: a link that is cut leads nowhere. */
function wholeLines(lines: readonly string[], length: number): string {
  let text = "";
  for (const line of lines) {
    const more = text === "" ? line : `${text}\n${line}`;
    // Two characters more: "…" on a line of its own.
    if (more.length > length - 2) return `${text}\n…`;
    text = more;
  }
  return text;
}
