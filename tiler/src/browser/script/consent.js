// Hides consent banners, which it recognises by name or by text, and reverts their scroll lock. It neither
// accepts nor rejects anything. It hides only elements that float above the page, never elements in normal flow.
() => {
  const known = `#onetrust-consent-sdk, #CybotCookiebotDialog, #CybotCookiebotDialogBodyUnderlay, #didomi-host, #didomi-popup,
    .qc-cmp2-container, .qc-cmp-cleanslate, #truste-consent-track, .truste_overlay, .truste_box_overlay, #trustarc-banner-overlay,
    #usercentrics-root, #usercentrics-cmp-ui, #uc-banner-modal, .osano-cm-window, .osano-cm-dialog, .cky-consent-container,
    .cky-overlay, .cky-modal, #cookie-law-info-bar, .cmplz-cookiebanner, .klaro .cookie-notice, .klaro .cookie-modal,
    #BorlabsCookieBox, #BorlabsCookieBoxWrap, #iubenda-cs-banner, #termly-code-snippet-support, [id^=sp_message_container_],
    .fc-consent-root, .cc-window, #cc-main, #cc--main, #cookie-notice, #cmpbox, #cmpbox2, #axeptio_overlay,
    #shopify-pc__banner, #moove_gdpr_cookie_info_bar, #hs-eu-cookie-confirmation`;
  const subject = /cookie|consent|gdpr|dsgvo|rgpd|einwilligung|datenschutz|traceur|consentement|consentimiento|galleta|consenso|ciasteczk|toestemming|samtyck|samtykke|evästee|süti|çerez|куки|согласи|файлы cookie|同意|クッキー|쿠키|隐私|ملفات تعريف|עוגיות/i;
  const answers = /\b(accept(?!ab|an)|agree(?!m)|allow|reject|decline|refuse|got it|understood|i understand|akzept|zustimm|ablehn|einverstanden|verstanden|erlaub|autorise|j['’]ai compris|d['’]accord|acept|rechaz|permitir|entendido|accett|rifiut|ho capito|aceit|concord|recus|akceptuj|zgadzam|zgod|odrzu|rozumiem|akkoord|weiger|toestaan|begrepen|godkänn|neka|tillad|godta|avvis|hyväksy|přijmout|souhlas|rozumím|elfogad|kabul)|^\s*ok(ay)?\s*[!.]?\s*$|при(ня|ма)|соглас|понятно|同意|接受|拒绝|知道了|동의|수락|확인|許可|αποδοχή|موافق|قبول|מסכים|אישור/i;
  const cross = /^\s*[×✕✖✗✘⨯╳x]\s*$|^\s*(close|dismiss|hide|continue|proceed|weiter|continuer|continuar|prosegui|schließen|fermer|cerrar|chiudi|fechar|zamknij|sluiten|stäng|luk|lukk|sulje|zavřít|bezár|kapat|закрыть|閉じる|닫기|关闭|إغلاق|סגור)\b/i;
  // Words that say that cookies are used.
  const notice = /(uses?|using|set|stores?|place)\b[^.]{0,60}\bcookies|cookies[^.]{0,60}\b(used?|help us|improve|ensure)|(verwende|nutz|setz|einsatz)[^.]{0,60}cookies|cookies[^.]{0,60}(verwende|nutz)|(utilis|usa|utiliz|emplea|bruk|gebruik|używa|wykorzyst|använd|käyttä|použív|használ|kullan|исполь)[^.]{0,60}(cookie|ciastecz|evästei|süti|çerez|куки)|cookies?[^.]{0,60}(utilis|usa|utiliz|bruk|gebruik|używa|använd|käyttä|použív|használ|kullan|исполь)|クッキーを|cookie ?を|쿠키를|使用[^。]{0,30}cookie|ملفات تعريف|משתמש[^.]{0,40}(cookie|עוגיות)/i;
  const clickable = 'button, [role=button], input[type=button], input[type=submit], a';
  // What a banner does not ask for: a cart, a login and a newsletter do.
  const entries = 'input[type=password], input[type=email], input[type=text], input[type=search], input[type=tel], input[type=number], input:not([type]), select, textarea';
  const windowArea = () => innerWidth * innerHeight;
  const floats = (style) => ['fixed', 'sticky', 'absolute'].includes(style.position);
  const hide = (element) => element.style.setProperty('display', 'none', 'important');
  const area = ({ width, height }) => width * height;
  // Maximum number of elements whose text is read, and length of an answer.
  const [maxTexts, maxAnswer] = [100, 40];

  let length;
  const pageTextLength = () => length ??= document.body.innerText.length;

  const text = (element) => {
    const trees = [element, ...elements(element)].map(shadowTree).filter(Boolean).slice(0, 20);
    const inside = trees.flatMap((tree) => [...tree.children]).map((child) => child.innerText ?? '');
    return [element.innerText ?? '', ...inside].join(' ').trim();
  };
  const label = (element) => element.innerText || element.value || element.getAttribute('aria-label') || element.title || '';
  // Returns true for elements that act as buttons without being any: they have few words, and look or behave like one.
  // In a `notice`, a line of its own is enough.
  const actsAsButton = (element, isNotice) => {
    if (!/^(div|span|p|li|b|strong|label|i|svg)$|-button$/.test(element.localName)) return false;
    if (element.childElementCount > 2 || label(element).length > maxAnswer) return false;
    const { cursor, display } = getComputedStyle(element);
    return cursor === 'pointer' || element.localName.endsWith('-button') || element.matches('[onclick], [role], [tabindex]') ||
      /btn|button|accept|agree|close|dismiss/i.test(`${element.className} ${element.id}`) ||
      isNotice && display !== 'inline' && element.childElementCount === 0 && !/[.:?]\s*$/.test(label(element));
  };

  // Returns true for a banner of an unknown consent tool.
  const isBanner = (element, style) => {
    const dialog = element.matches('dialog[open], [role=dialog], [role=alertdialog]');
    if (!['fixed', 'sticky'].includes(style.position) && !(dialog && floats(style))) return false;
    if (style.display === 'none' || style.visibility !== 'visible') return false;
    if (isFrame(element)) return isBannerFrame(element);
    if (element.querySelector('main, article, nav, [role=main]')) return false;
    if (element.textContent.length > 50000) return false;
    const words = text(element);
    if (words.length >= 2000 || !subject.test(words)) return false;
    const inside = elements(element).slice(0, 2000);
    if (inside.some((one) => one.matches(entries) && area(one.getBoundingClientRect()) > 0)) return false;
    const isNotice = notice.test(words);
    const buttons = inside.filter((one) => one.matches(clickable)).slice(0, 50);
    const others = inside.filter((one) => actsAsButton(one, isNotice)).slice(0, 50);
    const answer = [...buttons, ...others].find((one) => answers.test(label(one)));
    const closes = (one) => cross.test(label(one)) || /\b(close|dismiss)\b/i.test(`${one.className} ${one.id}`);
    if (!answer && !(isNotice && [...buttons, ...others].some(closes))) return false;
    // An element with many links is a table of contents.
    if (!answer?.matches('button, [role=button], input') && inside.filter((one) => one.localName === 'a').length > 6) return false;
    // An element that fills the window may be the page itself.
    const fills = area(element.getBoundingClientRect()) > windowArea() * 0.6;
    return !fills || dialog || pageTextLength() > 2 * words.length;
  };
  // A frame of a consent tool has a name or title of its own.
  const isBannerFrame = (frame) => {
    const names = ['id', 'name', 'title', 'class', 'src', 'aria-label'].map((name) => frame.getAttribute(name) ?? '');
    return /(?<!no-?)cookies?\b|consent|gdpr|\bcmp\b|privacy-(mgmt|manager|center)/i.test(names.join(' '));
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
    for (const element of elements()) {
      const style = getComputedStyle(element);
      if (floats(style)) floating.push([element, style]);
    }
    const candidates = floating.filter(([, { position }]) => position !== 'absolute');
    const dialogs = floating.filter(([element, { position }]) => position === 'absolute' && element.matches('dialog, [role]'));
    found.push(...[...candidates, ...dialogs].slice(0, maxTexts).filter(([e, s]) => isBanner(e, s)).map(([element]) => element));
    if (found.length > 0) found.push(...candidates.slice(0, 1000).filter(([e, s]) => isBackdrop(e, s)).map(([element]) => element));
    found.forEach(hide);
    if (found.length > 0) {
      state.unlocked = true;
      for (const element of [root, document.body]) {
        const { overflowX, overflowY, position } = getComputedStyle(element);
        if (['hidden', 'clip'].includes(overflowY)) {
          set(element, { 'overflow-x': isVisible(overflowX) ? 'visible' : 'clip', 'overflow-y': 'visible' });
        }
        if (position === 'fixed') set(element, { position: 'relative', inset: 'auto' });
      }
    }
  } catch { /* the page has elements that throw: its banner stays */ }
}
