// About which machines a receiver is told, or a mute is silent, in words. Pure.

interface ToldFilter {
  selector: string;
  names: string;
  states: readonly string[];
}

/** `not-ready, silent of edge-* with site=berlin` */
export function toldAbout({ selector, names, states }: ToldFilter): string {
  const what = states.length === 0 ? "every state" : states.join(", ");
  const whose = [names !== "" && `named ${names}`, selector !== "" && `with ${selector}`].filter(Boolean);
  return `${what} of ${whose.length === 0 ? "all machines" : `machines ${whose.join(" and ")}`}`;
}
