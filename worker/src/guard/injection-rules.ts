import { once } from "../once.ts";

/** A way in which prompts try to take a model over: how sure one such phrase makes, and the shapes of it. */
export interface Rule {
  readonly name: string;
  readonly weight: number;
  readonly shapes: readonly RegExp[];
  /** Means the same between quotation marks, as in the result of a tool. */
  readonly quotable?: true;
}

const DROP =
  "(?:ignore|disregard|forget|override|overrule|bypass|discard|drop|abandon|clear|skip|set aside|do not follow|don't follow|stop following|no longer follow)";
const EARLIER = "(?:previous|prior|above|earlier|preceding|initial|original|system|developer|safety|your|any|all)";
const ORDERS =
  "(?:instructions?|prompts?|rules?|directions?|guidelines?|directives?|constraints?|restrictions?|policies|programming|training|commands?)";

/** What stands before a number in a shape, for a gap of so many characters at most: within a sentence, or a line. */
const GAPS = { "~": "[^.!?\\n]", "@": "[^。！？\\n]", ";": "[^\\n]" };

/** A shape a line. They become expressions with the first text: a Worker that starts has better things to do. */
function rule(name: string, weight: number, lines: string, quotable?: true): Rule {
  const shapes = once(() => lines.split("\n").map((line) => new RegExp(line.replace(/([~@;])(\d+)/g, gap))));
  return {
    ...{ name, weight },
    ...(quotable && { quotable }),
    get shapes() {
      return shapes();
    },
  };
}

function gap(_: string, sign: string, most: string): string {
  return `${GAPS[sign as keyof typeof GAPS]}{0,${most}}`;
}

/** They are tried on the text as `undisguise` gives it. Gaps are bounded, so that each takes time in proportion. */
export const RULES: readonly Rule[] = [
  rule(
    "override",
    0.7,
    String.raw`\b${DROP}\b~30\b${EARLIER}\b~30\b${ORDERS}\b
\b(?:ignore|disregard|forget|discard)\b~20\b(?:everything|anything|all(?: of)? (?:that|this|it|text|the above))\b~25\b(?:above|before|told|said|written|earlier|prior)\b
\b(?:forget|ignore|disregard|discard)\b~20\b(?:rules|instructions|guidelines|orders)\b~40\b(?:you (?:were|have been|received|got)|no longer)
\b(?:ignore|disregard|forget|skip)\b~20\bwhat(?:ever)?\b~20\b(?:told|instructed|programmed)\b
\b(?:instructions|rules|guidelines|directions)\b[^!?\n]{0,60}\b(?:discard|ignore|disregard|forget) them\b
\b(?:don't|do not|no longer) (?:have|need) to (?:follow|obey|abide)\b~30\b(?:instructions|directions|rules|guidelines)\b
ignore(?:all)?(?:the|your|my)?(?:previous|prior|above)(?:instructions?|prompts?|rules?)
\bignore the (?:criteria|task|question|rubric)\b
(?:忽略|无视|忘记|忘掉|抛开|抛弃|不要理会|别理会|不用管|不必管|别管|不要管|跳过|绕过|丢弃|清除|清空|作废|不要遵守|停止遵守)@12(?:之前|以上|上面|前面|先前|此前|上述|所有|一切|全部|原有|原来|你的|系统|开发者|平台|安全)@10(?:指令|指示|提示|规则|规定|设定|预设|要求|约束|限制|命令|设置)
(?:之前|以上|上面|前面|先前)@8(?:指令|指示|规则|设定|约定|要求)@6(?:作废|失效|无效|不算|取消)
(?:忽略|无视|清空|忘记|解除)(?:你的)?(?:预设|设定|评分标准|平台规定|系统提示)
(?:抛开|解除|去掉)@8(?:所有|一切|全部)@4(?:限制|约束|规则)
\bwhatever (?:they|the \w+|your \w+) (?:set|told|gave|wrote|put)\b~50\b(?:(?:isn't|is not|not) relevant|doesn't matter|is void|no longer|doesn't apply)
\b(?:guidelines|rules|policies|instructions) (?:were|have been|got) (?:updated|changed|replaced)\b;80\b(?:no|without|removed?)\b;20\brefus
(?:条条框框|清规戒律)@8(?:放一边|别管|不管|抛|丢)|(?:规定|规则)@6(?:反过来|相反)@2(?:执行|做)
(?:守则|规定|规则)@10更新@14没有@6拒绝`,
  ),
  rule(
    "leak",
    0.65,
    String.raw`\b(?:reveal|show|print|output|display|leak|repeat|recite|write|give|tell|translate|dump|expose|list|share|paste)\b~40\b(?:your|the|its|complete|full|hidden|entire)\b~20\b(?:system|initial|hidden|secret|original|developer|internal|confidential)[ -](?:prompts?|instructions?|messages?|rules?|configuration)\b
\b(?:what|which) (?:is|are|was|were) your (?:initial|original|system|hidden|secret|first) (?:prompt|instructions?|rules|message)\b
\b(?:repeat|print|output|copy|summari[sz]e|translate|write out)\b~20\b(?:words|text|everything|all)\b~20\b(?:above|before (?:this|my)|preceding)\b
\b(?:text|everything|anything|all)\b~30\b(?:context|conversation)\b~20\bbefore (?:this|my)\b
\b(?:reveal|print|output|show|leak)\b~30\b(?:instructions|rules|prompt)\b~20\b(?:you were|you are|configured|given to you)\b
\b(?:print|output|repeat|reveal|show)\b~20\b(?:hidden|secret|internal|system) (?:prompt|instructions|rules)\b
\b(?:output|print|show|reveal|give me|tell me)\b~20\b(?:admin(?:istrator)?|root|secret|stored)\b~12\b(?:password|token|key|secret)\b
(?:输出|显示|告诉我|打印|复述|重复|展示|泄露|泄漏|说出|列出|给我看|公开|贴出|写出|翻译|续写|完整)@24(?:系统提示|系统消息|系统指令|初始指令|初始设定|初始提示|隐藏的?提示|隐藏的?指令|内部指令|内部设定|内部配置|提示词|开发者消息|system prompt)
(?:系统提示词?|系统消息|系统指令|初始设定|初始指令|隐藏的?提示|隐藏的?指令|内部设定|内部配置|system prompt)@16(?:输出|显示|打印|复述|重复|展示|泄露|说出来|列出来|贴出来|写出来|发给我|是什么)
我的(?:系统)?(?:指令|提示词|设定)是;10(?:开头|续写)
你(?:的|在|收到)@16(?:指令|规则|设定|提示)@10(?:一字不差|原样|逐字|逐条|复述|列出来|念出来)
(?:上面|以上|之前)的?(?:所有|全部)(?:文字|内容|话)@16(?:你是|翻译|复述|输出|重复)
(?:翻译|复述|输出|重复|打印)@8(?:上面|以上)的?(?:所有|全部)(?:文字|内容|话)
上下文里?@6(?:有什么|有哪些|内容);10(?:贴出来|输出|列出)
(?:输出|告诉我|说出|给我)@6(?:管理员|后台|超级)@4(?:密码|密钥|口令)
system_prompt\b
"role": ?"(?:system|developer)", ?"content": ?"?$
\b(?:first|last|next) \d+ (?:tokens|words|lines|characters|sentences)\b~16\b(?:your|the) (?:context|prompt|instructions)\b
\b(?:text|block|message|part|words|paragraph)\b~40\b(?:top|start|beginning) of (?:this|the|our) (?:chat|conversation)\b
\b(?:setup|opening|starting) (?:message|prompt|text)\b~40\b(?:was|were) given\b
(?:聊天|对话)@4(?:最顶|最上|开头)@12看不见`,
  ),
  rule(
    "persona",
    0.6,
    String.raw`\b(?:you are now|from now on|act as|pretend|roleplay|role-play|play|imagine|become|respond as|answer as|called|once as)\b;80\b(?:dan|stan|jailbroken|jailbreak|unrestricted|unfiltered|uncensored|no (?:restrictions|limits|limitations|filters?|rules|content policy|ethic)|without (?:any )?(?:ethical |moral |content |safety )?(?:guidelines|restrictions|limits|rules|filters?|morals))\b
\bdo anything now\b
\b(?:developer|debug|god|sudo|admin|jailbreak|dan|maintenance|unrestricted) mode\b;60\b(?:disabled?|off|no |without|enabled|on\b|unlocked|granted|you have)
\benable (?:god|dan|jailbreak|unrestricted) mode\b
\byou (?:have|has) no (?:limitations|restrictions|filters?|morals|rules|limits)\b
\b(?:never|always) (?:break|stay in) character\b;40|\bstay in character no matter\b
\bwhatever a normal (?:assistant|ai|model) would refuse\b
\bgrandmother\b;40\bused to\b;40\b(?:keys?|recipe for|passwords?|napalm|codes?)\b
\bdoes not have to (?:abide|follow|obey)\b
(?:你现在是|从现在起|从现在开始|从这一刻起|你将扮演|扮演|假装|假设你|你要成为|想象你);30(?:没有(?:任何)?(?:内容|道德|法律)?(?:的)?(?:限制|约束|道德|规则|审查|法律|过滤)|不受@6(?:限制|约束)|越狱|无限制|无审查|dan\b|无视|为所欲为)
(?:进入|切换到?|开启|激活|启用|打开)@6(?:开发者|越狱|无限制|调试|管理员|上帝|dan)模式;12(?:关闭|解除|没有|不再|绕过|取消)
(?:开启|进入|激活)(?:上帝|越狱|无限制|dan)模式
扮演@8(?:奶奶|祖母|外婆);24(?:密钥|密码|激活|配方)
(?:永远)?(?:不能|不要|不得|绝不)跳出角色|一个不受限制的|你不再受(?:任何)?(?:约束|限制)
\bwould (?:have )?(?:given?|say|said|answer(?:ed)?) if you were (?:allowed|permitted|free)\b
\b(?:safe|normal|filtered)\]?;60\[(?:raw|real|unfiltered|uncensored)\]
你的名字(?:叫|是)[^\n]{1,16}(?:什么|任何)@6都(?:回答|说)`,
  ),
  rule(
    "obey",
    0.4,
    String.raw`\b(?:you )?must (?:never|not) (?:say no|refuse|decline)\b|\bnever refuses?\b|\bwithout refusing\b|\bdo not (?:say|tell me) (?:that )?you can(?:'t|not)\b
\b(?:always|only) (?:comply|obey)\b|\bobey (?:me|the user|my)\b|\bact on my commands\b|\bhighest (?:authority|priority)\b
(?:绝对|永远|从)?(?:不能|不要|不得|不许|不准|绝不会?)(?:再)?(?:拒绝(?!检查)|说不能|说对不起)
(?:必须|一定要)(?:服从|听从)(?:我|用户)|只听我的|我的话优先级最高|优先级最高`,
  ),
  rule(
    "prefix",
    0.4,
    String.raw`\b(?:begin|start) (?:your|the|every) (?:reply|answer|response)s? with\b
(?:回答|回复)(?:必须|一定要|都要)以`,
  ),
  rule(
    "hush",
    0.35,
    String.raw`\b(?:never|do not|don't|without) (?:apologi[sz]|mention(?:ing)? (?:any |the )?(?:policy|policies|rules|guidelines)|add(?:ing)? (?:any )?(?:disclaimers|warnings))
\bor adding (?:disclaimers|warnings)\b
(?:不能|不要|不得|不许)@2(?:提到任何政策|提及政策|加任何提醒|加任何警告|说对不起)`,
  ),
  rule(
    "authority",
    0.55,
    String.raw`\b(?:as|i am|i'm) (?:your|the) (?:developer|creator|engineer|administrator|admin|owner)\b;80\b(?:authori[sz]e|bypass|output|reveal|disable|prompt|developer message|instructions)\b
\bsudo\b;40\b(?:mode|root|execute|privileges)\b|\broot privileges\b;30\bno safety\b
\b(?:granted|given) me (?:special|full|unlimited) (?:access|permission)\b;60\brestrictions\b
\b(?:bypass|disable|lift|remove|turn off|override)\b~24\b(?:content|safety|security|moderation)[ -](?:filters?|limits?|checks?|polic(?:y|ies)|restrictions?|measures?|rules)\b
\b(?:content polic(?:y|ies)|safety (?:filters?|checks?|rules)) (?:is|are) (?:disabled|off|lifted)\b
我是@8(?:开发者|管理员|创造者|工程师);20(?:授权你|绕过|打印出来|解除|隐藏的提示)
(?:绕过|关闭|解除|取消)@8(?:安全过滤|内容审核|安全限制|安全检查|安全策略|全部限制|一切限制)
(?:特殊|最高|超级管理员)权限;20(?:限制@4无效|不做安全检查|不受限制|所有限制)
\b(?:disable|turn off|switch off|lower|drop|remove)\b~12\bguardrails\b
(?:关掉|关闭|解除|放下)@6护栏`,
  ),
  rule(
    "roles",
    0.6,
    String.raw`<\|(?:im_start|im_end|system|endoftext|start_header_id)\|?>|<<sys>>|\[inst\]|</?system>
(?:^|\n) ?(?:#{1,4} ?)?(?:system|developer)(?: (?:prompt|message|notice))?: ?;40(?:override|you are|you must|policy|always|comply|the user is|ignore|disable|lift)
(?:^|\n) ?[【[]?(?:系统|管理员|开发者)(?:指令|通知|消息|提示)?[】\]]? ?[:：]? ?;30(?:解除|不得拒绝|关闭|必须|服从|输出密钥|已升级)`,
  ),
  rule(
    "new_orders",
    0.5,
    String.raw`\b(?:new|updated|real|actual|following are updated) instructions?(?: for the (?:assistant|ai|model))?:;80\b(?:you|send|output|reveal|ignore)\b
\bfollow these instead\b|\breply only with the word\b
新的?(?:指令|指示|任务)[:：]|(?:最新|以下)@6(?:给助手的?)@4指令
(?:解码|倒着读|反过来读)@24(?:执行|照做|按它说的做|照着)
\b(?:decode|rot13|backwards|reverse|concatenate)\b;40\b(?:follow|obey|execute|do what it says|carry out)\b
vtaber (?:nyy )?(?:cerivbhf|cevbe)|snoitcurtsni (?:suoiverp|roirp)
令指的前之`,
  ),
  rule(
    "hidden_reader",
    0.6,
    String.raw`\b(?:if you are an? (?:ai|llm|language model|assistant)|ai (?:assistants?|agents?|models?) reading|attention,? (?:llm|ai|assistant)|(?:llm|ai)s? (?:processing|summari[sz]ing|reading) this)\b
\b(?:do not|don't|never) (?:tell|inform|mention|show|reveal)\b~20\b(?:the user|to the user|this to)\b
!\[[^\]\n]{0,40}\]\(https?://[^)\n]{0,120}[?&][^)\n]{0,40}=[^)\n]{0,10}[{<[]
\bsend the user's\b|\b(?:forward|send|upload|post) all (?:the )?(?:messages|emails|files|data|conversations?)\b
(?:看到|阅读|处理|读到)@10(?:的)?(?:ai|人工智能|助手|大模型|机器人);12(?:请|必须|务必)
(?:不要|别|切勿)(?:让|告诉|告知)用户(?:知道)?
如果你是@12(?:ai|人工智能|助手|大模型)
把@8(?:对话记录|聊天记录|所有邮件|通讯录)@6(?:发送到|转发到|发给)
\b(?:whoever|anyone who|any (?:model|assistant|bot)s? (?:that|who)) (?:summari[sz]es|reads|processes|reviews|translates) (?:this|the)\b~30\b(?:should|must|please)\b
(?:阅卷|审核|评分|评审)@4(?:机器人?|程序|模型)@6(?:请|必须|直接)@8(?:满分|通过|最高)
(?:不用|不要|别|不必)回答用户的?(?:问题|请求)`,
    true,
  ),
];

/** Words of those who speak about such prompts. */
export const ABOUT_ATTACKS =
  /prompt injection|jailbreak attack|trick a (?:chatbot|model)|defend against|multiple-choice|newsletter|blog post|thriller|novel|提示词?注入|如何防御|怎么防御|选择题|小说|论文|骗过/;
