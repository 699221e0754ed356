// A text in which commands stand out; whole ones can be copied.
import { isTyped, markedParts } from "../base/marked-parts.ts";
import { CopyButton } from "./copy-button.tsx";

interface MarkedTextProps {
  text: string;
  /** Of the machine, which stands for NAME; absent: nothing does. */
  name?: string;
  /** A machine may have written it: nothing of it is offered to be typed elsewhere. */
  isOfMachine?: boolean;
}

export function MarkedText({ text, name, isOfMachine = false }: MarkedTextProps) {
  return (
    <>
      {markedParts(text, name).map((part, index) => {
        if (!part.isCommand) return part.text;
        if (isOfMachine || !isTyped(part)) return <code key={index}>{part.text}</code>;
        return (
          <span key={index} class="command">
            <code>{part.text}</code>
            <CopyButton text={part.text} of={part.text} />
          </span>
        );
      })}
    </>
  );
}
