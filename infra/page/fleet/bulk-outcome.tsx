// How far an action on many machines is, and what became of it: failures by machine, and a way to stop it.
import { useEffect, useRef } from "preact/hooks";
import type { BulkAnswer } from "../../../shared/protocol/administration-answers.ts";
import { hrefOf } from "../base/route.ts";
import { Link } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { type Polled, usePolled } from "../parts/use-polled.ts";
import { bulkTitle, progressText } from "./bulk-words.ts";

const LOOK_EVERY_MS = 1000;

/** So many failures are listed: a page of the Worker's. */
const FAILURES_LISTED = 1000;

export function BulkOutcome({ id, onClose }: { id: string; onClose: () => void }) {
  const path = `/v1/bulk/${encodeURIComponent(id)}`;
  const polled = usePolled<BulkAnswer>(`${path}?limit=${FAILURES_LISTED}`, ({ state }) =>
    state === "running" ? LOOK_EVERY_MS : null,
  );
  const { value, fault } = polled;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => body.current?.focus(), []);
  return (
    <div class="bulk-body bulk-first" ref={body} tabIndex={-1}>
      <p class="visually-hidden" role="status">
        {value && value.state !== "running" ? progressText(value) : ""}
      </p>
      {fault && <FaultNotice what="How far it is could not be asked" fault={fault} again={polled.now} />}
      {value && <Outcome bulk={value} />}
      {!value && !fault && <p class="quiet">Asking how far it is …</p>}
      <div class="row">
        {value?.state === "running" && <Stop path={path} polled={polled} />}
        <button type="button" onClick={onClose}>
          Close
        </button>
        {value?.state === "running" && <span class="quiet">It goes on when this is closed.</span>}
      </div>
    </div>
  );
}

function Outcome({ bulk }: { bulk: BulkAnswer }) {
  const { action, createdBy, createdAt, state, total, done, failed, endedAt } = bulk;
  return (
    <>
      <p>
        <strong>{bulkTitle(action)}</strong>{" "}
        <span class="quiet">
          by {createdBy}, begun <Time at={createdAt} />
          {endedAt !== null && (
            <>
              , over <Time at={endedAt} />
            </>
          )}
        </span>
      </p>
      <progress max={total} value={state === "done" ? total : done + failed} aria-label={bulkTitle(action)} />
      <p>{progressText(bulk)}</p>
      <Failures bulk={bulk} />
    </>
  );
}

function Failures({ bulk: { failures } }: { bulk: BulkAnswer }) {
  if (failures.length === 0) return null;
  return (
    <div class="bulk-list" role="region" aria-label="Failures" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Machine</th>
            <th scope="col">Why it failed</th>
          </tr>
        </thead>
        <tbody>
          {failures.map(({ name, reason }) => (
            <tr key={name}>
              <td>
                <Link href={hrefOf({ machine: name })}>{name}</Link>
              </td>
              <td>{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {failures.length === FAILURES_LISTED && <p class="quiet">The first {FAILURES_LISTED}, by name.</p>}
    </div>
  );
}

function Stop({ path, polled }: { path: string; polled: Polled<BulkAnswer> }) {
  const { run, isActing, fault } = useAct();
  const stop = async () => {
    await run("DELETE", path);
    polled.now();
  };
  return (
    <>
      {/* 404: it was over meanwhile, which the next look shows. */}
      {fault && fault.status !== 404 && <FaultNotice what="It could not be stopped" fault={fault} />}
      <button type="button" class="danger" disabled={isActing} onClick={() => void stop()}>
        Stop
      </button>
    </>
  );
}
