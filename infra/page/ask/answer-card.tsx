// Draws an answer while it comes, and its end. Texts of the machine are texts: no part of them becomes HTML or a link.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { bytesText, digits } from "../base/amounts.ts";
import { later } from "../base/clock.ts";
import { sentenceOf } from "../base/words.ts";
import { Check } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { type Asking, type TextBlock, textOf } from "./asking.ts";
import { Pinned } from "./pinned.tsx";
import { questionText } from "./question-fields.ts";

interface AnswerCardProps {
  asking: Asking;
  /** Asks the same question again, with a proof where the machine asks for one. */
  again: (proof?: string) => void;
  /** Draws the answer in place of its text. */
  children?: ComponentChildren;
}

export function AnswerCard({ asking, again, children }: AnswerCardProps) {
  const { question, state } = asking;
  const { blocks, size, end } = state.value;
  const text = questionText(question);
  const label = `Answer to ${text}`;
  return (
    <section class="ask-answer stack" aria-label={label}>
      <header class="row spread">
        <p>
          <code class="wrap">{text}</code> <Progress asking={asking} />
        </p>
        <div class="row">
          {end === null ? (
            <button type="button" onClick={() => asking.stop()}>
              Stop
            </button>
          ) : (
            <button type="button" onClick={() => again()}>
              Ask again
            </button>
          )}
          {size > 0 && (
            <button type="button" disabled={end === null} onClick={() => save(asking)}>
              Download
            </button>
          )}
        </div>
      </header>
      <End asking={asking} again={again} />
      {children ?? (blocks.length > 0 && <AnswerText blocks={blocks} question={question.name} />)}
    </section>
  );
}

/** Draws how far the answer is. Screen readers hear its begin and its end, and no count. */
function Progress({ asking: { bytes, state } }: { asking: Asking }) {
  const { lines, size, end } = state.value;
  const amount = bytes.length > 0 ? bytesText(size) : `${digits(lines)} ${lines === 1 ? "line" : "lines"}`;
  return (
    <span class="quiet">
      {end === null && size > 0 && `${amount} so far `}
      <span role="status">
        {end === null
          ? size > 0
            ? "The answer comes …"
            : "Waits for the machine …"
          : end.text === null && `Complete: ${amount}.`}
      </span>
    </span>
  );
}

function End({ asking, again }: Pick<AnswerCardProps, "asking" | "again">) {
  const { end, size } = asking.state.value;
  if (end === null || end.text === null) return null;
  if (end.challenge !== undefined) return <Pinned asking={asking} challenge={end.challenge} again={again} />;
  return (
    <Notice kind={end.isRefused ? "fault" : "warning"}>
      <p>
        <strong>{end.isRefused ? "Not answered" : size > 0 ? "Not the whole answer" : "No answer"}</strong>:{" "}
        {sentenceOf(end.text)}
      </p>
    </Notice>
  );
}

/** The questions whose answers have the newest line last, and lines of any length. */
const OF_LINES = new Set(["logs", "container-logs", "files"]);

function AnswerText({ blocks, question }: { blocks: readonly TextBlock[]; question: string }) {
  const isOfLines = OF_LINES.has(question);
  const [isWrapped, setWrapped] = useState(isOfLines);
  const element = useRef<HTMLDivElement>(null);
  /** true while the end of the answer is on the screen, so that it stays there while more comes. */
  const isAtEnd = useRef(isOfLines);
  useLayoutEffect(() => {
    if (isAtEnd.current) element.current?.scrollTo(0, element.current.scrollHeight);
  }, [blocks]);
  const scrolled = ({
    currentTarget: { scrollTop, clientHeight, scrollHeight },
  }: {
    currentTarget: Element;
  }) => {
    isAtEnd.current = isOfLines && scrollTop + clientHeight >= scrollHeight - NEAR_PIXELS;
  };
  return (
    <>
      <Check label="Wrap lines" value={isWrapped} onChange={setWrapped} />
      <div
        ref={element}
        class={isWrapped ? "ask-text ask-wrapped" : "ask-text"}
        role="region"
        aria-label="Text of the answer"
        tabIndex={0}
        onScroll={scrolled}
      >
        {blocks.map((block, index) => (
          <Block key={index} block={block} />
        ))}
      </div>
    </>
  );
}

const NEAR_PIXELS = 40;

/** Draws a block of text, and again only if the block has grown. */
function Block({ block }: { block: TextBlock }) {
  return useMemo(() => <div style={{ "--lines": block.lines }}>{block.text}</div>, [block]);
}

const SAVED_WITHIN_MS = 60_000;

/** Lets the browser save the answer as a file: as it is shown, or the bytes. */
function save({ machine, question, askedMs, bytes, state }: Asking): void {
  const isText = bytes.length === 0;
  const parts = isText ? [textOf(state.peek())] : bytes;
  const at = new Date(askedMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: isText ? "text/plain" : "application/gzip" }));
  link.download = `${machine}-${question.name}-${at}Z.${isText ? "txt" : "tar.gz"}`;
  link.click();
  later(() => URL.revokeObjectURL(link.href), SAVED_WITHIN_MS);
}
