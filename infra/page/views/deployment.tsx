// Draws the deployment: its checks, settings, operators and sessions.
import type {
  OperatorsAnswer,
  SessionsAnswer,
  SettingsAnswer,
} from "../../../shared/protocol/administration-answers.ts";
import type { ClusterHistoryAnswer, ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { usePage } from "../page.ts";
import { AnsweredSection, useAnswer } from "../parts/answer.tsx";
import { ConfirmButton } from "../parts/form.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

export function DeploymentView() {
  const { session } = usePage();
  return (
    <div class="stack">
      <h1>Deployment</h1>
      <Readiness />
      <Impact />
      <Settings />
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

const SETTINGS: readonly Column<SettingsAnswer["settings"][number]>[] = [
  { head: "Name", class: "mono", cell: ({ name }) => name },
  {
    head: "Value",
    class: "mono wrap",
    cell: ({ value }) => (value === null ? "(not shown: it is invalid)" : value || "–"),
  },
  { head: "From", cell: ({ source }) => source },
  { head: "State", cell: ({ state }) => <span class={`check-${state}`}>{state}</span> },
];

function Settings() {
  const answer = useAnswer<SettingsAnswer>("/v1/settings");
  return (
    <AnsweredSection
      id="settings"
      title="Active settings"
      answer={answer}
      what="The settings could not be read"
    >
      {({ settings }) => (
        <CardTable label="Settings" rows={settings} columns={SETTINGS} keyOf={({ name }) => name} />
      )}
    </AnsweredSection>
  );
}

const OPERATORS: readonly Column<OperatorsAnswer["operators"][number]>[] = [
  { head: "Name", cell: ({ name }) => name },
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
      {({ operators }) =>
        operators.length === 0 ? (
          <p class="card">
            There are none. <code>rollcall operators add NAME</code> creates one, so that the audit log has
            names.
          </p>
        ) : (
          <CardTable
            label="Operators"
            rows={operators}
            columns={OPERATORS}
            keyOf={({ name }) => name}
            rowClass={({ state }) => (state === "valid" ? undefined : "over")}
          />
        )
      }
    </AnsweredSection>
  );
}

function ClusterLog() {
  const answer = useAnswer<ClusterHistoryAnswer>("/v1/cluster/history", { limit: "20" });
  return (
    <AnsweredSection
      id="cluster-log"
      title="The watch of the cluster’s Nodes"
      answer={answer}
      what="The cluster’s history could not be read"
    >
      {({ entries }) =>
        entries.length === 0 ? (
          <p class="card">Nothing has happened.</p>
        ) : (
          <ul class="card">
            {entries.map(({ id, at, text }) => (
              <li key={id}>
                <Time at={at} />: {text}
              </li>
            ))}
          </ul>
        )
      }
    </AnsweredSection>
  );
}

const SIGNS: Readonly<Record<string, string>> = { ok: "✓", warning: "!", failed: "✕" };
const URGENT_FIRST = ["failed", "warning"];

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
      {({ checks }) => <Checks checks={checks} />}
    </AnsweredSection>
  );
}

/** Draws the checks. Passed checks are folded if another check has failed. */
function Checks({ checks }: Pick<ReadinessAnswer, "checks">) {
  const wrong = URGENT_FIRST.flatMap((state) => checks.filter((each) => each.state === state));
  const others = checks.filter((each) => !wrong.includes(each));
  if (wrong.length === 0) return <CheckList checks={others} />;
  return (
    <>
      <CheckList checks={wrong} />
      <details>
        <summary>{others.length} passed checks</summary>
        <CheckList checks={others} />
      </details>
    </>
  );
}

function CheckList({ checks }: Pick<ReadinessAnswer, "checks">) {
  return (
    <ul class="card checks">
      {checks.map(({ check, state, message, cure, since }) => (
        <li key={check}>
          <span class={`check-${state}`}>
            <span aria-hidden="true">{SIGNS[state] ?? "?"}</span> {state}
          </span>{" "}
          <strong>{check}</strong>: {message}
          {state !== "ok" && (
            <>
              {" "}
              (since <Time at={since} />)
            </>
          )}
          {cure !== undefined && <p class="cure">What to do: {cure}</p>}
        </li>
      ))}
    </ul>
  );
}

type ListedSession = SessionsAnswer["sessions"][number];

const SESSIONS: readonly Column<ListedSession>[] = [
  {
    head: "Who",
    cell: ({ who, isThis }) => (
      <>
        {who} {isThis && <span class="tag">this one</span>}
      </>
    ),
  },
  { head: "Role", cell: ({ role }) => role },
  { head: "Since", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Until", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  { head: "From", cell: ({ address }) => address || "–" },
  { head: "Browser", class: "wrap", cell: ({ browser }) => browser || "–" },
];

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
