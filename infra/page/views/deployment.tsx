// Draws the deployment: its checks, settings, feature rules, operators and sessions.
import { useState } from "preact/hooks";
import type {
  OperatorsAnswer,
  SessionsAnswer,
  SettingInForce,
  SettingsAnswer,
} from "../../../shared/protocol/administration-answers.ts";
import type { ClusterHistoryAnswer, ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { absolute, relative, type ZoneOffset } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { AnsweredSection, useAnswer } from "../parts/answer.tsx";
import { MarkedText } from "../parts/command.tsx";
import { Check, ConfirmButton } from "../parts/form.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { Rules } from "./rules.tsx";

export function DeploymentView() {
  const { session } = usePage();
  return (
    <div class="stack">
      <h1>Deployment</h1>
      <Readiness />
      <Impact />
      <Settings />
      <Rules />
      <Operators />
      {session.isAdmin() && <Sessions />}
      <ClusterLog />
    </div>
  );
}

/** Draws the hint at `rollcall impact`, which the page cannot assess: the Worker reads no object but Nodes. */
function Impact() {
  const { live } = usePage();
  const machines = Object.values(live.counts.value).reduce((sum, count) => sum + count, 0);
  return (
    <section class="stack" aria-labelledby="impact">
      <h2 id="impact">What Nodes do to the cluster</h2>
      <p class="card">
        The Worker knows {machines.toLocaleString("en")} machines and their Nodes, and no other program of the
        cluster. <code>rollcall impact --machines 300</code> reads those with your own kubectl.
      </p>
    </section>
  );
}

const SETTINGS: readonly Column<SettingInForce>[] = [
  { head: "Name", class: "mono wrap", isRowHead: true, cell: ({ name }) => name },
  {
    head: "Value",
    class: "mono wrap",
    cell: ({ value }) => (value === null ? "(not shown: it is invalid)" : value || "–"),
  },
  { head: "From", cell: ({ source }) => source },
  { head: "State", cell: ({ state }) => <span class={`check-${state}`}>{state}</span> },
];

/** Draws the settings that differ from their defaults, or are wrong. The others are one click away. */
function Settings() {
  const answer = useAnswer<SettingsAnswer>("/v1/settings");
  const [isAll, setAll] = useState(false);
  return (
    <AnsweredSection id="settings" title="Settings" answer={answer} what="The settings could not be read">
      {({ settings }) => {
        const chosen = settings.filter(({ source, state }) => source !== "default" || state !== "ok");
        const others = settings.length - chosen.length;
        return (
          <>
            <CardTable
              label="Settings"
              rows={isAll ? settings : chosen}
              columns={SETTINGS}
              keyOf={({ name }) => name}
              none="Each setting has its default."
            />
            {others > 0 && (
              <Check
                label={`Also the ${others} settings with their defaults`}
                value={isAll}
                onChange={setAll}
              />
            )}
          </>
        );
      }}
    </AnsweredSection>
  );
}

const OPERATORS: readonly Column<OperatorsAnswer["operators"][number]>[] = [
  { head: "Name", class: "wrap", isRowHead: true, cell: ({ name }) => name },
  { head: "Role", cell: ({ role }) => role },
  { head: "State", cell: ({ state }) => state },
  { head: "Valid until", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    head: "Last seen",
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <Time at={lastUsedAt} />),
  },
];

function Operators() {
  const answer = useAnswer<OperatorsAnswer>("/v1/operators");
  return (
    <AnsweredSection
      id="operators"
      title="Operators with names"
      answer={answer}
      what="The operators could not be listed"
    >
      {({ operators }) => (
        <CardTable
          label="Operators"
          rows={operators}
          columns={OPERATORS}
          keyOf={({ name }) => name}
          rowClass={({ state }) => (state === "valid" ? undefined : "over")}
          none={
            <>
              There are none. <code>rollcall operators add NAME</code> creates one, so that the audit log has
              names.
            </>
          }
        />
      )}
    </AnsweredSection>
  );
}

const WATCH: readonly Column<ClusterHistoryAnswer["entries"][number]>[] = [
  { head: "When", class: "unbroken", cell: ({ at }) => <Time at={at} form="absolute" /> },
  { head: "What", class: "wrap", cell: ({ text }) => text },
];

function ClusterLog() {
  const answer = useAnswer<ClusterHistoryAnswer>("/v1/cluster/history", { limit: "20" });
  return (
    <AnsweredSection
      id="cluster-log"
      title="The watch of the cluster’s Nodes"
      answer={answer}
      what="The cluster’s history could not be read"
    >
      {({ entries }) => (
        <CardTable
          label="Changes of the watch"
          rows={entries}
          columns={WATCH}
          keyOf={({ id }) => id}
          none="Nothing has happened."
        />
      )}
    </AnsweredSection>
  );
}

function Readiness() {
  const answer = useAnswer<ReadinessAnswer>("/readyz", undefined, 503);
  const { value, again } = answer;
  return (
    <AnsweredSection
      id="readiness"
      title={
        <>
          Readiness{value && <span class={`check-${value.state}`}>: {value.state}</span>}
          {value?.version && <span class="quiet"> · version {value.version}</span>}
        </>
      }
      aside={
        <button type="button" onClick={again}>
          Check again
        </button>
      }
      answer={answer}
      what="The readiness could not be read"
    >
      {({ checks }) => (
        <ul class="checks">
          {shownChecks(checks).map((check) => (
            <CheckCard key={check.check} {...check} />
          ))}
        </ul>
      )}
    </AnsweredSection>
  );
}

type ShownCheck = ReadinessAnswer["checks"][number];

const URGENT_FIRST = ["failed", "warning", "ok"];

/** Returns the checks of running parts, and of wrong settings: the table of settings has the others. Urgent first. */
export function shownChecks(checks: readonly ShownCheck[]): ShownCheck[] {
  const isSetting = ({ check }: ShownCheck) => /^[A-Z][A-Z\d_]*$/.test(check);
  const rank = ({ state }: ShownCheck) => URGENT_FIRST.indexOf(state);
  return checks
    .filter((each) => !isSetting(each) || each.state !== "ok")
    .toSorted((a, b) => rank(a) - rank(b));
}

const SIGNS: Readonly<Record<string, string>> = { ok: "✓", warning: "!", failed: "✕" };
const TITLES: Readonly<Record<string, string>> = {
  token: "Token",
  registry: "Registry",
  clock: "Clock",
  apiserver: "Apiserver",
  watch: "Watch of Nodes",
  state: "Stored state",
  limits: "Shared limits",
};

function CheckCard({ check, state, message, cure, since }: ShownCheck) {
  const { clock } = usePage();
  return (
    <li class="card">
      <h3>
        <span class={`check-${state}`}>
          <span aria-hidden="true">{SIGNS[state] ?? "?"}</span> {state}
        </span>{" "}
        {TITLES[check] ?? check}
      </h3>
      <p>{withAges(message, clock.value)}</p>
      {state !== "ok" && (
        <p class="quiet">
          since <Time at={since} form="absolute" />
        </p>
      )}
      {cure !== undefined && (
        <p>
          What to do: <MarkedText text={cure} />
        </p>
      )}
    </li>
  );
}

/** Returns the text with its RFC 3339 times in the page's form, and how far they are: `2026-11-22 14:03:09 (in 35d)`. */
export const withAges = (text: string, nowMs: number, offset?: ZoneOffset): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => {
    const atMs = Date.parse(time);
    return Number.isNaN(atMs) ? time : `${absolute(atMs, offset)} (${relative(atMs, nowMs)})`;
  });

type ListedSession = SessionsAnswer["sessions"][number];

const SESSIONS: readonly Column<ListedSession>[] = [
  {
    head: "Who",
    class: "wrap",
    isRowHead: true,
    cell: ({ who, isThis }) => (
      <>
        {who} {isThis && <span class="tag">this&nbsp;one</span>}
      </>
    ),
  },
  { head: "Role", cell: ({ role }) => role },
  { head: "Since", class: "unbroken", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Until", class: "unbroken", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  { head: "From", cell: ({ address }) => address || "–" },
  {
    head: "Browser",
    class: "wrap",
    cell: ({ browser }) => <span title={browser}>{browserText(browser) || "–"}</span>,
  },
];

/** The words of a User-Agent. A browser's own word comes before those of the browsers that it claims to be. */
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR", "Opera"],
  ["Firefox", "Firefox"],
  ["Chrome", "Chrome"],
  ["Version", "Safari"],
] as const;
const SYSTEMS = ["Windows", "Android", "iPhone", "iPad", "Mac OS X", "CrOS", "Linux"];

/** Returns a text like `Chrome 156, Linux` of a User-Agent; the whole User-Agent if it is not known. */
export function browserText(userAgent: string): string {
  const version = (word: string) => new RegExp(`${word}/(\\d+)`).exec(userAgent)?.[1];
  const browser = BROWSERS.find(([word]) => version(word) !== undefined);
  const system = SYSTEMS.find((each) => userAgent.includes(each));
  return browser && system ? `${browser[1]} ${version(browser[0])}, ${system}` : userAgent;
}

/** Draws the sessions. An admin may end any of them. */
function Sessions() {
  const answer = useAnswer<SessionsAnswer>("/v1/sessions");
  const end = ({ id }: ListedSession) => (
    <ConfirmButton
      label="End"
      title="End this session?"
      request={{ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(id)}` }}
      done="The session is over"
      onDone={answer.again}
      isDangerous
    >
      <p>The browser that has it is signed out within ten seconds, and can sign in again with the secret.</p>
    </ConfirmButton>
  );
  return (
    <AnsweredSection id="sessions" title="Signed in" answer={answer} what="The sessions could not be listed">
      {({ sessions }) => (
        <CardTable label="Sessions" rows={sessions} columns={SESSIONS} keyOf={({ id }) => id} actions={end} />
      )}
    </AnsweredSection>
  );
}
