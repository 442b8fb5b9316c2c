/** C0 controls other than tab, line feed and carriage return, and DEL: no model means anything by them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Text from a client as it goes on: well-formed Unicode without control characters. */
export function sanitise(text: string): string {
  return text.toWellFormed().replace(CONTROLS, "");
}
