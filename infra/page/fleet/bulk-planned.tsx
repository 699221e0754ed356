// What a dry run has listed: whom it would touch, who is left out and why, what becomes of them; and the yes to it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { BulkMatch, BulkPlan } from "../../../shared/protocol/administration-answers.ts";
import { usePage } from "../page.ts";
import { Notice } from "../parts/notice.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import { type BulkChoice, isTyped, isTypedRight, type SortedPlan, sortedPlan } from "./bulk-words.ts";
import { counted } from "./needs-words.ts";

interface BulkPlannedProps {
  choice: BulkChoice;
  plan: BulkPlan;
  isAsking: boolean;
  /** Asks anew whom it would touch. */
  onAgain: () => void;
  onBack: () => void;
  onYes: (confirmation: string) => void;
}

export function BulkPlanned({ choice, plan, isAsking, onAgain, onBack, onYes }: BulkPlannedProps) {
  const { touched, leftOut } = sortedPlan(plan);
  // What was pressed is gone; whoever cannot see goes on reading here.
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
        <Confirm
          choice={choice}
          plan={plan}
          confirmation={plan.confirmation}
          isAsking={isAsking}
          onAgain={onAgain}
          onBack={onBack}
          onYes={onYes}
        />
      )}
    </>
  );
}

/** More are drawn when they are asked for: a browser takes its time for ten thousand. */
const DRAWN_AT_FIRST = 200;

function Touched({ touched }: { touched: readonly BulkMatch[] }) {
  const [isWhole, setWhole] = useState(false);
  const drawn = isWhole ? touched : touched.slice(0, DRAWN_AT_FIRST);
  const more = touched.length - drawn.length;
  return (
    <div class="bulk-list" role="region" aria-label="Machines that it would touch" tabIndex={0}>
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

interface ConfirmProps extends BulkPlannedProps {
  confirmation: string;
}

function Confirm({ choice, plan, confirmation, isAsking, onAgain, onBack, onYes }: ConfirmProps) {
  const { clock } = usePage();
  const [typed, setTyped] = useState("");
  const { total, expiresAt } = plan;
  if (clock.value >= Date.parse(expiresAt))
    return (
      <Notice kind="warning">
        <p>
          This list is out of date since <Time at={expiresAt} form="absolute" />: machines may have changed.
        </p>
        <button type="button" disabled={isAsking} onClick={onAgain}>
          Look again
        </button>
      </Notice>
    );
  const mustType = isTyped(choice, total);
  const isRight = !mustType || isTypedRight(typed, total);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isRight && !isAsking) onYes(confirmation);
  };
  return (
    <form class="bulk-confirm" onSubmit={submit}>
      {mustType && (
        <label>
          <span>
            This cannot be taken back. To go on, type how many machines it is: <strong>{total}</strong>
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
          disabled={!isRight || isAsking}
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
