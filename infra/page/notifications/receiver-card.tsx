// One receiver: what it is told, whether that arrives, and what did not.
import { useState } from "preact/hooks";
import type {
  ListedReceiver,
  LettersAnswer,
  ReceiverTest,
} from "../../../shared/protocol/receiver-answers.ts";
import { shortDuration } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { Answered } from "../parts/answered.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { Time } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { toldAbout } from "./told-about.ts";

interface ReceiverCardProps {
  receiver: ListedReceiver;
  again: () => void;
}

export function ReceiverCard({ receiver, again }: ReceiverCardProps) {
  const { session } = usePage();
  const { name, format, url, failingSince, error, waiting, dead, dropped, firing } = receiver;
  return (
    <article class="card stack" aria-label={`Receiver ${name}`}>
      <header class="row spread">
        <h3>
          {name} <span class="tag">{format}</span>
        </h3>
        <span class={failingSince === null ? "check-ok" : "check-failed"}>
          {failingSince === null ? (
            "✓ the last letter arrived"
          ) : (
            <>
              ✕ nothing has arrived for <Time at={failingSince} form="since" />
            </>
          )}
        </span>
      </header>
      <Pairs
        pairs={[
          ["Address", <span class="mono">{url}</span>],
          ["Is told", `${receiver.outagesOnly ? "outages only: " : ""}${toldAbout(receiver)}`],
          ["When", whenText(receiver)],
          ["Letters", `${waiting} wait, ${dead} given up, ${dropped} not kept; ${firing} alerts fire`],
        ]}
      />
      {error !== "" && <Notice kind="warning">The last attempt failed: {error}.</Notice>}
      {session.isAdmin() && <ReceiverActs name={name} again={again} />}
      {waiting + dead > 0 && session.isAdmin() && <Letters name={name} again={again} />}
    </article>
  );
}

/** `after 2m, again each 1h` */
function whenText({ delaySeconds, repeatMinutes }: ListedReceiver): string {
  const again = repeatMinutes > 0 ? `, again each ${shortDuration(repeatMinutes * 60_000)}` : "";
  return `after ${shortDuration(delaySeconds * 1000)}${again}`;
}

function ReceiverActs({ name, again }: { name: string; again: () => void }) {
  const path = `/v1/receivers/${encodeURIComponent(name)}`;
  const { run, isActing, fault } = useAct();
  const [test, setTest] = useState<ReceiverTest | null>(null);
  return (
    <>
      <div class="row">
        <button
          type="button"
          disabled={isActing}
          onClick={() => void run<ReceiverTest>("POST", `${path}/test`).then((outcome) => setTest(outcome))}
        >
          {isActing ? "Sending …" : "Send a test"}
        </button>
        <ConfirmButton
          label="Remove"
          title={`Remove the receiver ${name}?`}
          request={{ method: "DELETE", path }}
          done={`The receiver ${name} is removed`}
          onDone={again}
          isDangerous
        >
          <p>It is told nothing any more. Letters that wait for it are lost.</p>
        </ConfirmButton>
      </div>
      {fault && <FaultNotice what="The test could not be sent" fault={fault} />}
      {test && (
        <Notice kind={test.arrived ? "quiet" : "warning"}>
          {test.arrived ? "The test arrived" : "The test did not arrive"} ({test.status ?? "no answer"},{" "}
          {test.tookMs} ms)
          {test.answer !== "" && <>: {test.answer}</>}
        </Notice>
      )}
    </>
  );
}

function Letters({ name, again }: { name: string; again: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Letters that wait, or were given up</summary>
      {isOpen && <LetterList name={name} again={again} />}
    </details>
  );
}

function LetterList({ name, again }: { name: string; again: () => void }) {
  const path = `/v1/receivers/${encodeURIComponent(name)}/letters`;
  const letters = useAnswer<LettersAnswer>(path);
  const { run, isActing, fault } = useAct();
  const resend = async (id: number) => {
    if ((await run("POST", `${path}/${id}/resend`)) === null) return;
    letters.again();
    again();
  };
  return (
    <Answered answer={letters} what="The letters could not be listed">
      {(value) => (
        <ul class="stack">
          {fault && <FaultNotice what="The letter could not be sent again" fault={fault} />}
          {value.letters.map(({ id, madeAt, state, error, body }) => (
            <li key={id}>
              {state}, made <Time at={madeAt} />
              {error !== "" && `: ${error}`}{" "}
              {state === "dead" && (
                <button type="button" disabled={isActing} onClick={() => void resend(id)}>
                  Send again
                </button>
              )}
              <details>
                <summary>Its text</summary>
                <pre class="breaks">{body}</pre>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}
