// Draws the fleet view without machines: whether the Worker is ready for them, and how the first machine joins.
import type { ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { CopyButton, joinCommand, MarkedText } from "../parts/command.tsx";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { Notice } from "../parts/notice.tsx";
import { usePolled } from "../parts/answer.tsx";

export function NoMachinesSteps() {
  const { session } = usePage();
  const command = joinCommand(location.origin);
  const selector = session.selector();
  if (selector !== undefined)
    return (
      <p class="card">
        No machine matches your selector <code>{selector}</code>. An operator of all machines can change it.
      </p>
    );
  return (
    <div class="needs-nothing">
      <FailedChecks />
      <section class="card stack" aria-labelledby="no-machines">
        <h2 id="no-machines">No machine is here yet</h2>
        <ol>
          <li>
            {session.isAdmin() ? (
              <>
                <Link href={hrefOf({ view: "tokens" })}>Make a join token</Link>, and put it into a file on
                the machine that only root can read: <code>/root/join-token</code>.
              </>
            ) : (
              "Ask an operator with the role admin for a join token. It goes into a file on the machine that only root can read."
            )}
          </li>
          <li>
            Install <code>node-shim</code> on the machine (<MarkedText text="docs/shim.md" />
            ), and have it join as root:
            <div class="needs-command">
              <pre tabIndex={0}>{command}</pre>
              <CopyButton text={command} of="the command" />
            </div>
          </li>
          <li>
            If the token is not for the machine’s host name, add <code>--hostname-override NAME</code>. The
            machine appears within seconds. If it does not, <code>node-shim doctor</code> on it shows why.
          </li>
        </ol>
      </section>
    </div>
  );
}

const LOOK_EVERY_MS = 15_000;

/** Draws the failed checks of the Worker, before the steps: with a failed check the Worker would refuse a machine. */
function FailedChecks() {
  // If a check has failed, the status is 503, and the body still has all checks.
  const { value: readiness } = usePolled<ReadinessAnswer>("/readyz", () => LOOK_EVERY_MS, 503);
  const failed = readiness?.checks.filter(({ state }) => state === "failed") ?? [];
  if (failed.length === 0) return null;
  return (
    <Notice kind="fault">
      <p>
        <strong>This deployment is not ready for machines.</strong>
      </p>
      <ul class="needs-checks">
        {failed.map(({ check, message, cure }) => (
          <li key={check}>
            <strong>{check}</strong>: {message}
            {cure !== undefined && (
              <p>
                What to do: <MarkedText text={cure} />.
              </p>
            )}
          </li>
        ))}
      </ul>
      <Link href={hrefOf({ view: "deployment" })}>All checks of the deployment</Link>
    </Notice>
  );
}
