// The head of a machine's view: its name, its state, what is wrong in one sentence, and what to do about it.
import { hrefOf } from "../base/route.ts";
import { Link } from "../parts/link.tsx";
import { Moment } from "../parts/moment.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import { DiagnosisCard } from "./diagnosis-card.tsx";
import type { WatchedMachine } from "./use-machine.ts";

export function MachineHead({ machine }: { machine: WatchedMachine }) {
  const { name, live, whole, diagnosis } = machine;
  const since = live?.sinceMs ?? whole?.summary?.since;
  return (
    <header class="machine-head">
      <div class="row spread">
        <div class="row machine-title">
          <h1>{name}</h1>
          {diagnosis && (
            <span class="machine-state">
              <StateWord state={diagnosis.state} />
              {since !== undefined && (
                <span class="quiet">
                  since <Moment at={since} />
                </span>
              )}
            </span>
          )}
        </div>
        <Asked machine={machine} />
      </div>
      <InShort machine={machine} />
      <DiagnosisCard machine={machine} />
    </header>
  );
}

/** The button keeps its width while it is asked. */
function Asked({ machine: { answeredMs, isAsking, again } }: { machine: WatchedMachine }) {
  return (
    <div class="row machine-asked">
      {answeredMs > 0 && (
        <span
          class="quiet"
          title="When the machine’s object answered last; changes are asked for by themselves"
        >
          asked <Time at={answeredMs} />
        </span>
      )}
      <button type="button" onClick={again} aria-disabled={isAsking} title="Key: r">
        Ask anew
      </button>
    </div>
  );
}

function InShort({ machine: { live, whole } }: { machine: WatchedMachine }) {
  const told = live ?? whole?.summary;
  if (!told) return null;
  const { versions, address } = told;
  const parts = [versions.os, versions.kernel, versions.architecture, versions.runtime].filter(Boolean);
  const phase = live ? live.phase : whole?.phase;
  return (
    <p class="quiet machine-short">
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
      {versions.shim && <span>shim {versions.shim}</span>}
      {address && (
        <span>
          behind <Link href={hrefOf({ view: "fleet" }, { q: `address:${address}` })}>{address}</Link>
        </span>
      )}
      <span title="Where its Node stands, as the machine is answered">
        phase: {phase ?? "never reported"}
      </span>
    </p>
  );
}
