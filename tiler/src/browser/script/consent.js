// Hides what asks for consent to cookies, by what it is called or by what it says, and lets the page scroll again that it
// held. Nothing is agreed to or refused. Only what floats above the page is hidden, never what is part of its flow.
async () => {
  const known = `#onetrust-consent-sdk, #CybotCookiebotDialog, #CybotCookiebotDialogBodyUnderlay, #didomi-host, #didomi-popup,
    .qc-cmp2-container, .qc-cmp-cleanslate, #truste-consent-track, .truste_overlay, .truste_box_overlay, #trustarc-banner-overlay,
    #usercentrics-root, #usercentrics-cmp-ui, #uc-banner-modal, .osano-cm-window, .osano-cm-dialog, .cky-consent-container,
    .cky-overlay, .cky-modal, #cookie-law-info-bar, .cmplz-cookiebanner, .klaro .cookie-notice, .klaro .cookie-modal,
    #BorlabsCookieBox, #BorlabsCookieBoxWrap, #iubenda-cs-banner, #termly-code-snippet-support, [id^=sp_message_container_],
    .fc-consent-root, .cc-window, #cc-main, #cc--main, #cookie-notice, #cmpbox, #cmpbox2, #axeptio_overlay,
    #shopify-pc__banner, #moove_gdpr_cookie_info_bar, #hs-eu-cookie-confirmation`;
  const subject = /cookie|consent|gdpr|dsgvo|rgpd|einwilligung|datenschutz|traceur|consentement|consentimiento|galleta|consenso|ciasteczk|toestemming|samtyck|samtykke|evästee|süti|çerez|куки|согласи|файлы cookie|同意|クッキー|쿠키|隐私|ملفات تعريف/i;
  const agreeing = /\b(accept(?!ab|an)|agree(?!m)|allow|reject|decline|refuse|got it|akzept|zustimm|ablehn|einverstanden|erlaub|autorise|d['’]accord|acept|rechaz|permitir|accett|rifiut|aceit|concord|recus|akceptuj|zgadzam|zgod|odrzu|akkoord|weiger|toestaan|godkänn|neka|tillad|godta|avvis|hyväksy|přijmout|souhlas|elfogad|kabul)|^\s*ok(ay)?\s*$|при(ня|ма)|соглас|同意|接受|拒绝|동의|수락|許可|αποδοχή|موافق|قبول/i;
  const pressed = 'button, [role=button], input[type=button], input[type=submit], a';
  const windowArea = () => innerWidth * innerHeight;
  const floats = (style) => ['fixed', 'sticky', 'absolute'].includes(style.position);
  const hide = (element) => element.style.setProperty('display', 'none', 'important');
  const area = ({ width, height }) => width * height;
  // At most so many elements are looked at, whatever the page is made of.
  const [looked, read] = [20000, 100];

  let all;
  const said = () => all ??= document.body.innerText.length;

  // A banner of this page's own making.
  const asks = (element, style) => {
    const dialog = element.matches('dialog[open], [role=dialog], [role=alertdialog]');
    if (!['fixed', 'sticky'].includes(style.position) && !(dialog && floats(style))) return false;
    if (style.display === 'none' || style.visibility !== 'visible') return false;
    if (element.querySelector('main, article, nav, [role=main]')) return false;
    if (element.textContent.length > 50000) return false;
    const text = element.innerText.trim();
    if (text.length >= 2000 || !subject.test(text)) return false;
    const buttons = [...element.querySelectorAll(pressed)].slice(0, 50);
    const yes = buttons.find((button) => agreeing.test(button.innerText || button.value || ''));
    if (!yes) return false;
    // Many links are a table of contents.
    if (yes.matches('a:not([role=button])') && element.getElementsByTagName('a').length > 6) return false;
    // What fills the window may be the page itself.
    const fills = area(element.getBoundingClientRect()) > windowArea() * 0.6;
    return !fills || dialog || said() > 2 * text.length;
  };
  // What darkens the page behind a banner.
  const veils = (element, style) => {
    if (style.position !== 'fixed' || area(element.getBoundingClientRect()) < windowArea() * 0.95) return false;
    const alpha = Number(/^rgba\(.*, ([\d.]+)\)$/.exec(style.backgroundColor)?.[1] ?? 1);
    const seen = Number(style.opacity) * alpha;
    return seen > 0 && seen < 0.98 && element.childElementCount === 0 && !element.textContent.trim();
  };

  let found = [];
  try {
    for (const element of [...document.querySelectorAll(known)].slice(0, read)) {
      const inFlow = !floats(getComputedStyle(element)) && element.getBoundingClientRect().height >= 1;
      if (!inFlow && element.style.display !== 'none') found.push(element);
    }
    const floating = [];
    for (const element of [...document.body.querySelectorAll('*')].slice(0, looked)) {
      const style = getComputedStyle(element);
      if (floats(style)) floating.push([element, style]);
    }
    const candidates = floating.filter(([, { position }]) => position !== 'absolute');
    const dialogs = floating.filter(([element, { position }]) => position === 'absolute' && element.matches('dialog, [role]'));
    found.push(...[...candidates, ...dialogs].slice(0, read).filter(([e, s]) => asks(e, s)).map(([element]) => element));
    if (found.length > 0) found.push(...candidates.slice(0, 1000).filter(([e, s]) => veils(e, s)).map(([element]) => element));
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
  } catch { /* the page hides its own elements from us, and keeps its banner */ }
}
