// Does the Worker work: GET /readyz, whose answer is one with a failed check as well. What is wrong comes first.
import type { ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { Answered } from "../parts/answered.tsx";
import { Time } from "../parts/time.tsx";
import { useAnswer } from "../parts/use-answer.ts";

type Check = ReadinessAnswer["checks"][number];

const SIGNS: Readonly<Record<string, string>> = { ok: "✓", warning: "!", failed: "✕" };
const URGENT_FIRST = ["failed", "warning"];

export function Readiness() {
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
          Look again
        </button>
      </header>
      <Answered answer={readiness} what="The readiness could not be read">
        {({ checks }) => <Checks checks={checks} />}
      </Answered>
    </section>
  );
}

/** Those that are well are folded where any is not. */
function Checks({ checks }: Pick<ReadinessAnswer, "checks">) {
  const wrong = URGENT_FIRST.flatMap((state) => checks.filter((each) => each.state === state));
  const others = checks.filter((each) => !wrong.includes(each));
  if (wrong.length === 0) return <CheckList checks={others} />;
  return (
    <>
      <CheckList checks={wrong} />
      <details>
        <summary>{others.length} checks that are well</summary>
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
