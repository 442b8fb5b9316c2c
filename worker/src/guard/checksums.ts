const ID_WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];

/** Whether 18 characters are a number of the Chinese identity card, by its last character (ISO 7064, MOD 11-2). */
export function isChineseId(text: string): boolean {
  const sum = ID_WEIGHTS.reduce((total, weight, index) => total + weight * Number(text[index]), 0);
  return "10X98765432"[sum % 11] === text.at(-1)?.toUpperCase();
}

/** Whether 13 to 19 digits, however grouped, are a number of a payment card, by its last digit (Luhn). */
export function isCard(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  // One digit over and over passes the sum, and is what people write for an example or a separator.
  if (/^(\d)\1*$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    const counted = at % 2 === 0 ? digit : digit * 2;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

/** Whether an account number is an IBAN, by its two check digits (ISO 7064, MOD 97-10). */
export function isIban(text: string): boolean {
  const plain = text.replaceAll(" ", "");
  if (plain.length < 15 || plain.length > 34) return false;
  let rest = 0;
  for (let at = 0; at < plain.length; at++) {
    const unit = plain.charCodeAt((at + 4) % plain.length);
    // Letters count from ten, as two digits.
    rest = unit < 0x3a ? rest * 10 + unit - 0x30 : rest * 100 + unit - 0x37;
    rest %= 97;
  }
  return rest === 1;
}
