// The deployment: its checks, its settings, its operators and their sessions.
import type {
  OperatorsAnswer,
  SessionsAnswer,
  SettingsAnswer,
} from "../../../shared/protocol/administration-answers.ts";
import type { ClusterHistoryAnswer, ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { usePage } from "../page.ts";
import { Answered, useAnswer } from "../parts/answer.tsx";
import { ConfirmButton } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";
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

/** The Worker may read Nodes, but no other object of the cluster. */
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

function Settings() {
  const settings = useAnswer<SettingsAnswer>("/v1/settings");
  return (
    <section class="stack" aria-labelledby="settings">
      <h2 id="settings">Active settings</h2>
      <Answered answer={settings} what="The settings could not be read">
        {(value) => (
          <Table label="Settings" heads={["Name", "Value", "From", "State"]}>
            {value.settings.map(({ name, value: set, source, state }) => (
              <tr key={name}>
                <td class="mono">{name}</td>
                <td class="mono wrap">{set === null ? "(not shown: it is invalid)" : set || "–"}</td>
                <td>{source}</td>
                <td class={`check-${state}`}>{state}</td>
              </tr>
            ))}
          </Table>
        )}
      </Answered>
    </section>
  );
}

function Operators() {
  const operators = useAnswer<OperatorsAnswer>("/v1/operators");
  return (
    <section class="stack" aria-labelledby="operators">
      <h2 id="operators">Operators with names</h2>
      <Answered answer={operators} what="The operators could not be listed">
        {(value) =>
          value.operators.length === 0 ? (
            <p class="card">
              There are none. <code>rollcall operators add NAME</code> creates one, so that the audit log has
              names.
            </p>
          ) : (
            <Table label="Operators" heads={["Name", "Role", "State", "Valid until", "Last seen"]}>
              {value.operators.map(({ name, role, state, expiresAt, lastUsedAt }) => (
                <tr key={name} class={state === "valid" ? undefined : "over"}>
                  <td>{name}</td>
                  <td>{role}</td>
                  <td>{state}</td>
                  <td>
                    <Time at={expiresAt} />
                  </td>
                  <td>{lastUsedAt === null ? "never" : <Time at={lastUsedAt} />}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Answered>
    </section>
  );
}

function ClusterLog() {
  const log = useAnswer<ClusterHistoryAnswer>("/v1/cluster/history", { limit: "20" });
  return (
    <section class="stack" aria-labelledby="cluster-log">
      <h2 id="cluster-log">The watch of the cluster’s Nodes</h2>
      <Answered answer={log} what="The cluster’s history could not be read">
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
      </Answered>
    </section>
  );
}

type Check = ReadinessAnswer["checks"][number];

const SIGNS: Readonly<Record<string, string>> = { ok: "✓", warning: "!", failed: "✕" };
const URGENT_FIRST = ["failed", "warning"];

function Readiness() {
  const readiness = useAnswer<ReadinessAnswer>("/readyz", undefined, 503);
  const { value, again } = readiness;
  return (
    <section class="stack" aria-labelledby="readiness">
      <header class="row spread">
        <h2 id="readiness">
          Readiness{value && <span class={`check-${value.state}`}>: {value.state}</span>}
          {value?.version && <span class="quiet"> · version {value.version}</span>}
        </h2>
        <button type="button" onClick={again}>
          Check again
        </button>
      </header>
      <Answered answer={readiness} what="The readiness could not be read">
        {({ checks }) => <Checks checks={checks} />}
      </Answered>
    </section>
  );
}

/** Passed checks are folded if another one failed. */
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

function CheckList({ checks }: { checks: readonly Check[] }) {
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

/** Sessions of the page, for admins, who may end any of them. */
function Sessions() {
  const sessions = useAnswer<SessionsAnswer>("/v1/sessions");
  return (
    <section class="stack" aria-labelledby="sessions">
      <h2 id="sessions">Signed in</h2>
      <Answered answer={sessions} what="The sessions could not be listed">
        {(value) => (
          <Table label="Sessions" heads={["Who", "Role", "Since", "Until", "From", "Browser"]} hasActions>
            {value.sessions.map((session) => (
              <SessionRow key={session.id} session={session} again={sessions.again} />
            ))}
          </Table>
        )}
      </Answered>
    </section>
  );
}

function SessionRow({ session, again }: { session: SessionsAnswer["sessions"][number]; again: () => void }) {
  const { id, who, role, createdAt, expiresAt, address, browser, isThis } = session;
  return (
    <tr>
      <td>
        {who} {isThis && <span class="tag">this one</span>}
      </td>
      <td>{role}</td>
      <td>
        <Time at={createdAt} />
      </td>
      <td>
        <Time at={expiresAt} />
      </td>
      <td>{address || "–"}</td>
      <td class="wrap">{browser || "–"}</td>
      <td>
        <ConfirmButton
          label="End"
          title="End this session?"
          request={{ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(id)}` }}
          done="The session is over"
          onDone={again}
          isDangerous
        >
          <p>Whoever uses it is signed out within ten seconds, and can sign in again with the secret.</p>
        </ConfirmButton>
      </td>
    </tr>
  );
}
