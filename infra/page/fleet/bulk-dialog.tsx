// Draws a bulk action's dialog: choice, dry run, confirmation of that run, and progress. Closing it stops no action.
import type { PathOf } from "../../../shared/protocol/routes.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ActionName } from "../../../shared/fleet/action-words.ts";
import type {
  BulkAnswer,
  BulkMatch,
  BulkPlan,
  BulkProgress,
} from "../../../shared/protocol/administration-answers.ts";
import { BULK_LIMITS } from "../../../shared/protocol/limits.ts";
import type { RequestFault } from "../base/api.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { type Polled, usePolled } from "../parts/answer.tsx";
import { MarkedText } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { useAct } from "../parts/form.tsx";
import { Link } from "../parts/link.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import {
  BULK_CHOICES,
  type BulkChoice,
  bulkTitle,
  isTyped,
  isTypedRight,
  progressText,
  type SortedPlan,
  sortedPlan,
  statesText,
  waitText,
} from "./bulk-words.ts";
import { counted } from "./needs-words.ts";

export interface BulkDialogProps {
  /** The names of the machines, or the ID of an action that has started. */
  about: { names: readonly string[] } | { id: string };
  /** Called with the ID of the started action. */
  onBegun: (id: string) => void;
  onClose: () => void;
}

export function BulkDialog({ about, onBegun, onClose }: BulkDialogProps) {
  const [begunId, setBegunId] = useState("id" in about ? about.id : null);
  const begun = (id: string) => {
    setBegunId(id);
    onBegun(id);
  };
  const title =
    "names" in about ? `Act on ${counted(about.names.length, "machine")}` : "Many machines at once";
  return (
    <Dialog title={title} onClose={onClose}>
      {begunId !== null && <BulkOutcome id={begunId} onClose={onClose} />}
      {begunId === null && "names" in about && <BulkForm names={about.names} onBegun={begun} />}
    </Dialog>
  );
}

type Step =
  | { kind: "choose" }
  | { kind: "planned"; choice: BulkChoice; plan: BulkPlan }
  | { kind: "failed"; choice: BulkChoice; what: string; fault: RequestFault };

/** Milliseconds until a request fails. A dry run of thousands of machines may take long. */
const WITHIN_MS = 60_000;

function BulkForm({ names, onBegun }: { names: readonly string[]; onBegun: (id: string) => void }) {
  const { ask } = usePage();
  const [step, setStep] = useState<Step>({ kind: "choose" });
  const [sending, setSending] = useState<ActionName | null>(null);
  const send = async <T,>(choice: BulkChoice, more: { dryRun: true } | { confirmation: string }) => {
    setSending(choice.action);
    const body = { action: choice.action, names, ...more };
    const answer = await ask<T>("POST", "/v1/bulk", { body, withinMs: WITHIN_MS });
    setSending(null);
    return answer;
  };
  const plan = async (choice: BulkChoice) => {
    const planned = await send<BulkPlan>(choice, { dryRun: true });
    const what = "The dry run failed";
    setStep(
      planned.ok
        ? { kind: "planned", choice, plan: planned.value }
        : { kind: "failed", choice, what, fault: planned.error },
    );
  };
  const begin = async (choice: BulkChoice, confirmation: string) => {
    const started = await send<BulkProgress>(choice, { confirmation });
    if (started.ok) onBegun(started.value.id);
    else setStep({ kind: "failed", choice, what: "Nothing was started", fault: started.error });
  };
  const again = () => setStep({ kind: "choose" });
  return (
    <div class="bulk-body" aria-busy={sending !== null}>
      {step.kind === "choose" && (
        <Choices count={names.length} sending={sending} onChoose={(choice) => void plan(choice)} />
      )}
      {step.kind === "planned" && (
        <BulkPlanned
          choice={step.choice}
          plan={step.plan}
          isLoading={sending !== null}
          onAgain={() => void plan(step.choice)}
          onBack={again}
          onYes={(confirmation) => void begin(step.choice, confirmation)}
        />
      )}
      {step.kind === "failed" && (
        <>
          <FaultNotice what={step.what} fault={step.fault} again={() => void plan(step.choice)} />
          <button type="button" onClick={again}>
            Back
          </button>
        </>
      )}
    </div>
  );
}

interface ChoicesProps {
  count: number;
  sending: ActionName | null;
  onChoose: (choice: BulkChoice) => void;
}

function Choices({ count, sending, onChoose }: ChoicesProps) {
  if (count > BULK_LIMITS.machines)
    return (
      <Notice kind="warning">
        At most {counted(BULK_LIMITS.machines, "machine")} at once: narrow the search, and do it in parts.
      </Notice>
    );
  return (
    <>
      <p class="quiet">
        You see first which machines it would change. Nothing is done before you confirm that list.
      </p>
      <ul class="bulk-choices">
        {BULK_CHOICES.map((choice) => (
          <li key={choice.action}>
            <button
              type="button"
              class={choice.isFinal ? "danger" : ""}
              disabled={sending !== null}
              onClick={() => onChoose(choice)}
            >
              {choice.title} …
            </button>
            <span>
              <MarkedText text={choice.description} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface BulkPlannedProps {
  choice: BulkChoice;
  plan: BulkPlan;
  isLoading: boolean;
  /** Called to repeat the dry run. */
  onAgain: () => void;
  onBack: () => void;
  onYes: (confirmation: string) => void;
}

function BulkPlanned(props: BulkPlannedProps) {
  const { choice, plan, onBack } = props;
  const { touched, leftOut } = sortedPlan(plan);
  // The button that had the focus is gone, so the focus moves here: a screen reader continues from it.
  const first = useRef<HTMLParagraphElement>(null);
  useEffect(() => first.current?.focus(), [plan]);
  return (
    <>
      <p ref={first} tabIndex={-1} class="bulk-first">
        <strong>
          {choice.title}: {counted(plan.total, "machine")}.
        </strong>{" "}
        {plan.total > 0 && `Of each: ${choice.consequence}.`}
      </p>
      {touched.length > 0 && (
        <p>
          Now: <strong>{statesText(touched)}</strong>. {waitText(choice.action, touched)}
        </p>
      )}
      {touched.length > 0 && <Touched touched={touched} />}
      <LeftOut leftOut={leftOut} />
      {plan.confirmation === null ? (
        <div class="row">
          <span>There is nothing to do.</span>
          <button type="button" onClick={onBack}>
            Back
          </button>
        </div>
      ) : (
        <Confirm {...props} confirmation={plan.confirmation} />
      )}
    </>
  );
}

/** The number of machines drawn at first, because a browser needs long for ten thousand names. */
const DRAWN_AT_FIRST = 200;

function Touched({ touched }: { touched: readonly BulkMatch[] }) {
  const [isWhole, setWhole] = useState(false);
  const drawn = isWhole ? touched : touched.slice(0, DRAWN_AT_FIRST);
  const more = touched.length - drawn.length;
  return (
    <div class="bulk-list" role="region" aria-label="Machines that it would change" tabIndex={0}>
      <ul>
        {drawn.map(({ name, state }) => (
          <li key={name} title={state ?? "not known"}>
            <StateSign state={state ?? ""} />
            <span class="visually-hidden">{state ?? "not known"}: </span>
            {name}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {more.toLocaleString("en")} more
        </button>
      )}
    </div>
  );
}

function LeftOut({ leftOut }: Pick<SortedPlan, "leftOut">) {
  const count = leftOut.reduce((sum, { names }) => sum + names.length, 0);
  if (count === 0) return null;
  return (
    <details class="bulk-left-out">
      <summary>{count === 1 ? "1 machine is left out" : `${counted(count, "machine")} are left out`}</summary>
      {leftOut.map(({ reason, names }) => (
        <p key={reason}>
          <strong>{names.length.toLocaleString("en")}</strong>: {reason}.{" "}
          <span class="quiet">
            {names.slice(0, DRAWN_AT_FIRST).join(", ")}
            {names.length > DRAWN_AT_FIRST && ", …"}
          </span>
        </p>
      ))}
    </details>
  );
}

function Confirm(props: BulkPlannedProps & { confirmation: string }) {
  const { choice, plan, confirmation, isLoading, onAgain, onBack, onYes } = props;
  const { clock } = usePage();
  const [typed, setTyped] = useState("");
  const { total, expiresAt } = plan;
  if (clock.value >= Date.parse(expiresAt))
    return (
      <Notice kind="warning">
        <p>
          This list is out of date since <Time at={expiresAt} form="absolute" />: machines may have changed.
        </p>
        <button type="button" disabled={isLoading} onClick={onAgain}>
          Repeat the dry run
        </button>
      </Notice>
    );
  const mustType = isTyped(choice, total);
  const isRight = !mustType || isTypedRight(typed, total);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isRight && !isLoading) onYes(confirmation);
  };
  return (
    <form class="bulk-confirm" onSubmit={submit}>
      {mustType && (
        <label>
          <span>
            This cannot be undone. To continue, type the number of machines: <strong>{total}</strong>
          </span>
          <input
            inputMode="numeric"
            autocomplete="off"
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      )}
      <div class="row">
        <button
          type="submit"
          class={choice.isFinal ? "danger bulk-yes" : "primary bulk-yes"}
          disabled={!isRight || isLoading}
        >
          {choice.title}: {counted(total, "machine")}
        </button>
        <button type="button" onClick={onBack}>
          Back
        </button>
      </div>
    </form>
  );
}

const LOOK_EVERY_MS = 1000;

/** The number of failures on one page of the Worker's answer. */
const FAILURES_LISTED = 1000;

function BulkOutcome({ id, onClose }: { id: string; onClose: () => void }) {
  const path = `/v1/bulk/${encodeURIComponent(id)}` as const;
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
      {fault && <FaultNotice what="The progress could not be read" fault={fault} again={polled.now} />}
      {value && <Outcome bulk={value} />}
      {!value && !fault && <p class="quiet">Loading the progress …</p>}
      <div class="row">
        {value?.state === "running" && <Stop path={path} polled={polled} />}
        <button type="button" onClick={onClose}>
          Close
        </button>
        {value?.state === "running" && <span class="quiet">It continues when this is closed.</span>}
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

const FAILURES: readonly Column<BulkAnswer["failures"][number]>[] = [
  { head: "Machine", cell: ({ name }) => <Link href={hrefOf({ machine: name })}>{name}</Link> },
  { head: "Why it failed", cell: ({ reason }) => reason },
];

function Failures({ bulk: { failures } }: { bulk: BulkAnswer }) {
  if (failures.length === 0) return null;
  return (
    <div class="bulk-list" role="region" aria-label="Failures" tabIndex={0}>
      <DataTable label="Failures" rows={failures} columns={FAILURES} keyOf={({ name }) => name} />
      {failures.length === FAILURES_LISTED && <p class="quiet">The first {FAILURES_LISTED}, by name.</p>}
    </div>
  );
}

function Stop({ path, polled }: { path: PathOf<"GET" | "DELETE">; polled: Polled<BulkAnswer> }) {
  const { run, isActing, fault } = useAct();
  const stop = async () => {
    await run("DELETE", path);
    polled.now();
  };
  return (
    <>
      {/* A 404 is not shown: the action has ended meanwhile, as the next request will report. */}
      {fault && fault.status !== 404 && <FaultNotice what="It could not be stopped" fault={fault} />}
      <button type="button" class="danger" disabled={isActing} onClick={() => void stop()}>
        Stop
      </button>
    </>
  );
}
