// A text in which commands stand out; whole ones can be copied.
import { CopyButton } from "../parts/copy-button.tsx";
import { isTyped, markedParts } from "./marked-parts.ts";

export function MarkedText({ text, name }: { text: string; name: string }) {
  return (
    <>
      {markedParts(text, name).map((part, index) => {
        if (!part.isCommand) return part.text;
        if (!isTyped(part)) return <code key={index}>{part.text}</code>;
        return (
          <span key={index} class="machine-command">
            <code>{part.text}</code>
            <CopyButton text={part.text} of={part.text} />
          </span>
        );
      })}
    </>
  );
}
