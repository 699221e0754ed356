// The deployment itself: does it work, what is it set to, who may use it, and who is signed in.
import type { OperatorsAnswer, SettingsAnswer } from "../../../shared/protocol/administration-answers.ts";
import type { ClusterHistoryAnswer } from "../../../shared/protocol/operator-answers.ts";
import { usePage } from "../page.ts";
import { Answered } from "../parts/answered.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { Time } from "../parts/time.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { Readiness } from "./readiness.tsx";
import { Sessions } from "./sessions.tsx";

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

/** The Worker may read Nodes, and no other program of the cluster. */
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
      <h2 id="settings">Settings in force</h2>
      <Answered answer={settings} what="The settings could not be read">
        {(value) => (
          <ScrollBox label="Settings" class="card flush">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Value</th>
                  <th scope="col">From</th>
                  <th scope="col">State</th>
                </tr>
              </thead>
              <tbody>
                {value.settings.map(({ name, value: set, source, state }) => (
                  <tr key={name}>
                    <td class="mono">{name}</td>
                    <td class="mono wrap">{set === null ? "(not shown: it is wrong)" : set || "–"}</td>
                    <td>{source}</td>
                    <td class={`check-${state}`}>{state}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollBox>
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
              There are none: <code>rollcall operators add NAME</code> makes one, so that the audit log says
              who did what.
            </p>
          ) : (
            <ScrollBox label="Operators" class="card flush">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">May</th>
                    <th scope="col">State</th>
                    <th scope="col">Good until</th>
                    <th scope="col">Was here</th>
                  </tr>
                </thead>
                <tbody>
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
                </tbody>
              </table>
            </ScrollBox>
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
      <h2 id="cluster-log">The watch of the cluster’s Nodes, of late</h2>
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
