// Hides consent banners, which it recognises by name or by text, and reverts their scroll lock. It neither
// accepts nor rejects anything. It hides only elements that float above the page, never elements in normal flow.
async () => {
  const known = `#onetrust-consent-sdk, #CybotCookiebotDialog, #CybotCookiebotDialogBodyUnderlay, #didomi-host, #didomi-popup,
    .qc-cmp2-container, .qc-cmp-cleanslate, #truste-consent-track, .truste_overlay, .truste_box_overlay, #trustarc-banner-overlay,
    #usercentrics-root, #usercentrics-cmp-ui, #uc-banner-modal, .osano-cm-window, .osano-cm-dialog, .cky-consent-container,
    .cky-overlay, .cky-modal, #cookie-law-info-bar, .cmplz-cookiebanner, .klaro .cookie-notice, .klaro .cookie-modal,
    #BorlabsCookieBox, #BorlabsCookieBoxWrap, #iubenda-cs-banner, #termly-code-snippet-support, [id^=sp_message_container_],
    .fc-consent-root, .cc-window, #cc-main, #cc--main, #cookie-notice, #cmpbox, #cmpbox2, #axeptio_overlay,
    #shopify-pc__banner, #moove_gdpr_cookie_info_bar, #hs-eu-cookie-confirmation`;
  const subject = /cookie|consent|gdpr|dsgvo|rgpd|einwilligung|datenschutz|traceur|consentement|consentimiento|galleta|consenso|ciasteczk|toestemming|samtyck|samtykke|evästee|süti|çerez|куки|согласи|файлы cookie|同意|クッキー|쿠키|隐私|ملفات تعريف/i;
  const answers = /\b(accept(?!ab|an)|agree(?!m)|allow|reject|decline|refuse|got it|akzept|zustimm|ablehn|einverstanden|erlaub|autorise|d['’]accord|acept|rechaz|permitir|accett|rifiut|aceit|concord|recus|akceptuj|zgadzam|zgod|odrzu|akkoord|weiger|toestaan|godkänn|neka|tillad|godta|avvis|hyväksy|přijmout|souhlas|elfogad|kabul)|^\s*ok(ay)?\s*$|при(ня|ма)|соглас|同意|接受|拒绝|동의|수락|許可|αποδοχή|موافق|قبول/i;
  const clickable = 'button, [role=button], input[type=button], input[type=submit], a';
  const windowArea = () => innerWidth * innerHeight;
  const floats = (style) => ['fixed', 'sticky', 'absolute'].includes(style.position);
  const hide = (element) => element.style.setProperty('display', 'none', 'important');
  const area = ({ width, height }) => width * height;
  // Maximum number of elements whose style is computed, and of those whose text is read.
  const [maxStyles, maxTexts] = [20000, 100];

  let length;
  const pageTextLength = () => length ??= document.body.innerText.length;

  // Returns true for a banner of an unknown consent tool.
  const isBanner = (element, style) => {
    const dialog = element.matches('dialog[open], [role=dialog], [role=alertdialog]');
    if (!['fixed', 'sticky'].includes(style.position) && !(dialog && floats(style))) return false;
    if (style.display === 'none' || style.visibility !== 'visible') return false;
    if (element.querySelector('main, article, nav, [role=main]')) return false;
    if (element.textContent.length > 50000) return false;
    const text = element.innerText.trim();
    if (text.length >= 2000 || !subject.test(text)) return false;
    const buttons = [...element.querySelectorAll(clickable)].slice(0, 50);
    const answer = buttons.find((button) => answers.test(button.innerText || button.value || ''));
    if (!answer) return false;
    // An element with many links is a table of contents.
    if (answer.matches('a:not([role=button])') && element.getElementsByTagName('a').length > 6) return false;
    // An element that fills the window may be the page itself.
    const fills = area(element.getBoundingClientRect()) > windowArea() * 0.6;
    return !fills || dialog || pageTextLength() > 2 * text.length;
  };
  // Returns true for the backdrop of a banner, which darkens the page.
  const isBackdrop = (element, style) => {
    if (style.position !== 'fixed' || area(element.getBoundingClientRect()) < windowArea() * 0.95) return false;
    const alpha = Number(/^rgba\(.*, ([\d.]+)\)$/.exec(style.backgroundColor)?.[1] ?? 1);
    const opacity = Number(style.opacity) * alpha;
    return opacity > 0 && opacity < 0.98 && element.childElementCount === 0 && !element.textContent.trim();
  };

  let found = [];
  try {
    for (const element of [...document.querySelectorAll(known)].slice(0, maxTexts)) {
      const inFlow = !floats(getComputedStyle(element)) && element.getBoundingClientRect().height >= 1;
      if (!inFlow && element.style.display !== 'none') found.push(element);
    }
    const floating = [];
    for (const element of [...document.body.querySelectorAll('*')].slice(0, maxStyles)) {
      const style = getComputedStyle(element);
      if (floats(style)) floating.push([element, style]);
    }
    const candidates = floating.filter(([, { position }]) => position !== 'absolute');
    const dialogs = floating.filter(([element, { position }]) => position === 'absolute' && element.matches('dialog, [role]'));
    found.push(...[...candidates, ...dialogs].slice(0, maxTexts).filter(([e, s]) => isBanner(e, s)).map(([element]) => element));
    if (found.length > 0) found.push(...candidates.slice(0, 1000).filter(([e, s]) => isBackdrop(e, s)).map(([element]) => element));
    found.forEach(hide);
    if (found.length > 0) {
      for (const element of [document.documentElement, document.body]) {
        const { overflowY, position } = getComputedStyle(element);
        if (['hidden', 'clip'].includes(overflowY)) element.style.setProperty('overflow', 'visible', 'important');
        if (position === 'fixed') {
          element.style.setProperty('position', 'relative', 'important');
          element.style.setProperty('inset', 'auto', 'important');
        }
      }
    }
  } catch { /* the page has elements that throw: its banner stays */ }
}
