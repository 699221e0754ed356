// Does the Worker work: GET /readyz, whose answer is one with a failed check as well.
import { useEffect, useState } from "preact/hooks";
import type { ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";

const WITHIN_MS = 15_000;
const SIGNS: Readonly<Record<string, string>> = { ok: "✓", warning: "!", failed: "✕" };

export function Readiness() {
  const [answer, setAnswer] = useState<ReadinessAnswer | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const ask = async () => {
    try {
      // 503 has the same document: what failed is what one wants to know.
      const response = await fetch("/readyz", { signal: AbortSignal.timeout(WITHIN_MS) });
      setAnswer((await response.json()) as ReadinessAnswer);
      setFailed(false);
    } catch {
      setFailed(true);
    }
  };
  useEffect(() => void ask(), []);
  return (
    <section class="stack" aria-labelledby="readiness">
      <header class="row spread">
        <h2 id="readiness">
          Readiness{answer && <span class={`check-${answer.state}`}>: {answer.state}</span>}
          {answer?.version && <span class="quiet"> · version {answer.version}</span>}
        </h2>
        <button type="button" onClick={() => void ask()}>
          Look again
        </button>
      </header>
      {hasFailed && <Notice kind="fault">The Worker gave no answer about its readiness.</Notice>}
      {answer === null ? (
        !hasFailed && <p class="quiet">Asking …</p>
      ) : (
        <ul class="card checks">
          {answer.checks.map(({ check, state, message, cure, since }) => (
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
      )}
    </section>
  );
}
