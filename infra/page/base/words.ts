// Ends sentences.

/** Returns the text with a full stop, unless the text ends a sentence already. */
export const sentenceOf = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
