// Draws what to do if the machine's owner has pinned keys: a passkey signs, or the command line does.
import { useState } from "preact/hooks";
import { CopyButton, MarkedText } from "../parts/command.tsx";
import { Notice } from "../parts/notice.tsx";
import type { Asking } from "./asking.ts";
import { hasPasskeys, makePasskey, signQuestion } from "./passkey.ts";
import { commandOf } from "./question-fields.ts";

interface PinnedProps {
  asking: Asking;
  challenge: string;
  /** Asks the same question with a proof. */
  again: (proof: string) => void;
}

export function Pinned({ asking: { machine, question }, challenge, again }: PinnedProps) {
  const [fault, setFault] = useState<string | null>(null);
  const command = commandOf(machine, question);
  const sign = () => {
    setFault(null);
    const { name, parameters } = question;
    signQuestion({ machine, challenge, question: { name, parameters } }).then(again, (error: unknown) =>
      setFault(`No passkey has signed: ${reasonOf(error)}`),
    );
  };
  return (
    <Notice kind="warning">
      <p>
        <strong>Not answered</strong>: {machine} answers only questions that are signed by a key of its
        owner’s choice (<MarkedText text="docs/questions.md" />
        ).
      </p>
      {hasPasskeys() && (
        <>
          <p>
            <button type="button" onClick={sign}>
              Sign with a passkey
            </button>{" "}
            <span role="status">{fault}</span>
          </p>
          <NewPasskey machine={machine} />
        </>
      )}
      <p>Or ask on the command line, with your key:</p>
      <p class="command">
        <code class="wrap">{command}</code>
        <CopyButton text={command} of="the command" />
      </p>
    </Notice>
  );
}

/** Draws how to make a passkey, and its line once it is made: the page shows the line only now. */
function NewPasskey({ machine }: { machine: string }) {
  const [line, setLine] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const make = () => {
    setFault(null);
    makePasskey().then(setLine, (error: unknown) => setFault(`No passkey was made: ${reasonOf(error)}`));
  };
  if (line !== null)
    return (
      <>
        <p>
          Send this line to the owner of {machine}, who adds it to the file of <code>--questions-from</code>.
          Keep it: the page cannot show it again.
        </p>
        <p class="command">
          <code class="wrap">{line}</code>
          <CopyButton text={line} of="the line" />
        </p>
      </>
    );
  return (
    <details>
      <summary>I have no passkey for questions</summary>
      <p>
        Your browser makes one. A machine accepts it once its owner has added its public line.{" "}
        <button type="button" onClick={make}>
          Make a passkey
        </button>{" "}
        <span role="status">{fault}</span>
      </p>
    </details>
  );
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
