// The tokens of XCQL: XQuery 3.1 and the signs of time.
//
// Three things are done by the Python subclass of the generated lexer (xcql/parser/lexer.py),
// since no lexer rule can see them: names that are keywords get the keyword's token type, tag_opens()
// tells a start tag from a less-than sign, and inside ?[ ] and #[ ] the mode INTERVAL is tried first.
lexer grammar XcqlLexer;

tokens {
    // keywords: the lexer finds them in a table, see KEYWORDS in xcql/parser/lexer.py
    KW_ALLOWING, KW_AND, KW_ARRAY, KW_AS, KW_ASCENDING, KW_AT, KW_ATTRIBUTE, KW_BASE_URI,
    KW_BOUNDARY_SPACE, KW_BY, KW_CASE, KW_CAST, KW_CASTABLE, KW_CATCH, KW_COLLATION, KW_COMMENT,
    KW_CONSTRUCTION, KW_CONTEXT, KW_COPY_NAMESPACES, KW_COUNT, KW_DECIMAL_FORMAT, KW_DECLARE,
    KW_DEFAULT, KW_DEFINE, KW_DESCENDING, KW_DIV, KW_DOCUMENT, KW_DOCUMENT_NODE, KW_ELEMENT,
    KW_ELSE, KW_EMPTY, KW_EMPTY_SEQUENCE, KW_ENCODING, KW_END, KW_EQ, KW_EVERY, KW_EXCEPT,
    KW_EXTERNAL, KW_FOR, KW_FUNCTION, KW_GE, KW_GREATEST, KW_GROUP, KW_GT, KW_IDIV, KW_IF,
    KW_IMPORT, KW_IN, KW_INHERIT, KW_INSTANCE, KW_INTERSECT, KW_IS, KW_ITEM, KW_LAX, KW_LE,
    KW_LEAST, KW_LET, KW_LT, KW_MAP, KW_MOD, KW_MODULE, KW_NAMESPACE, KW_NAMESPACE_NODE, KW_NE,
    KW_NEXT, KW_NODE, KW_NO_INHERIT, KW_NO_PRESERVE, KW_OF, KW_ONLY, KW_OPTION, KW_OR, KW_ORDER,
    KW_ORDERED, KW_ORDERING, KW_PRESERVE, KW_PREVIOUS, KW_PROCESSING_INSTRUCTION, KW_RETURN,
    KW_SATISFIES, KW_SCHEMA, KW_SCHEMA_ATTRIBUTE, KW_SCHEMA_ELEMENT, KW_SLIDING, KW_SOME,
    KW_SORTBY, KW_STABLE, KW_START, KW_STRICT, KW_STRIP, KW_SWITCH, KW_TEXT, KW_THEN, KW_TO,
    KW_TREAT, KW_TRY, KW_TUMBLING, KW_TYPE, KW_TYPESWITCH, KW_UNION, KW_UNORDERED, KW_VALIDATE,
    KW_VARIABLE, KW_VERSION, KW_WHEN, KW_WHERE, KW_WINDOW, KW_XQUERY,
    // one of Allen's thirteen relations: before, met-by, overlaps ...
    ALLEN
}

WS : [ \t\r\n]+ -> skip ;
COMMENT_OPEN : '(:' -> skip, pushMode(COMMENT) ;
PRAGMA : '(#' .*? '#)' ;

STRING : '"' (~'"' | '""')* '"' | '\'' (~'\'' | '\'\'')* '\'' ;
UNCLOSED_STRING : '"' (~'"' | '""')* | '\'' (~'\'' | '\'\'')* ;
INTEGER : DIGITS ;
DECIMAL : '.' DIGITS | DIGITS '.' [0-9]* ;
DOUBLE : ('.' DIGITS | DIGITS ('.' [0-9]*)?) [eE] [+-]? DIGITS ;
// a number must not run into a name: 10div 3
BAD_NUMBER : ('.' DIGITS | DIGITS ('.' [0-9]*)?) ([eE] [+-]? DIGITS)? NAME_START ;

NAME : NCNAME ;
PREFIXED_NAME : NCNAME ':' NCNAME ;
BRACED_NAME : BRACED_URI NCNAME ;
PREFIX_WILDCARD : NCNAME ':*' ;
LOCAL_WILDCARD : '*:' NCNAME ;
BRACED_WILDCARD : BRACED_URI '*' ;

LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
LBRACE : '{' -> pushMode(DEFAULT_MODE) ;
RBRACE : '}' -> popMode ;
INTERPOLATION_CLOSE : '}`' -> popMode ;
COMMA : ',' ;
SEMICOLON : ';' ;
COLON : ':' ;
COLON_COLON : '::' ;
ASSIGN : ':=' ;
DOLLAR : '$' ;
AT : '@' ;
PERCENT : '%' ;
HASH : '#' ;
QUESTION : '?' ;
BANG : '!' ;
DOT : '.' ;
DOT_DOT : '..' ;
SLASH : '/' ;
SLASH_SLASH : '//' ;
STAR : '*' ;
PLUS : '+' ;
MINUS : '-' ;
CONCAT : '||' ;
PIPE : '|' ;
ARROW : '=>' ;
EQUAL : '=' ;
NOT_EQUAL : '!=' ;
TAG_OPEN : '<' {self.tag_opens()}? -> pushMode(START_TAG) ;
LESS : '<' ;
LESS_EQUAL : '<=' ;
GREATER : '>' ;
GREATER_EQUAL : '>=' ;
NODE_BEFORE : '<<' ;
NODE_AFTER : '>>' ;

DIRECT_COMMENT : DIRECT_COMMENT_TEXT ;
DIRECT_PI : DIRECT_PI_TEXT ;
STRING_CONSTRUCTOR_OPEN : '``[' -> pushMode(STRING_CONSTRUCTOR) ;

INVALID : . ;

fragment DIGITS : [0-9]+ ;
fragment NCNAME : NAME_START NAME_CHAR* ;
fragment NAME_START
    : [A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D]
    | [\u2070-\u218F\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\u{10000}-\u{EFFFF}]
    ;
fragment NAME_CHAR : NAME_START | [-.0-9\u00B7\u0300-\u036F\u203F-\u2040] ;
fragment BRACED_URI : 'Q{' ~[{}]* '}' ;
fragment DIRECT_COMMENT_TEXT : '<!--' (~'-' | '-' ~'-')* '-->' ;
fragment DIRECT_PI_TEXT : '<?' .*? '?>' ;
fragment REFERENCE_TEXT : '&' (NCNAME | '#' [0-9]+ | '#x' [0-9A-Fa-f]+) ';' ;

mode COMMENT;

COMMENT_NESTED : '(:' -> skip, pushMode(COMMENT) ;
COMMENT_CLOSE : ':)' -> skip, popMode ;
COMMENT_TEXT : ~[(:]+ -> skip ;
COMMENT_SIGN : [(:] -> skip ;

// Tried before the default mode inside ?[ ] and #[ ]. What is no literal of time is read again there.
mode INTERVAL;

DATE_TIME_LITERAL : DATE_TEXT 'T' TWO ':' TWO ':' TWO ('.' DIGITS)? ZONE? ;
DATE_LITERAL : DATE_TEXT ZONE? ;
DURATION_LITERAL
    : 'P' (DIGITS 'Y' (DIGITS 'M')? (DIGITS 'D')? TIME_PART?
          | DIGITS 'M' (DIGITS 'D')? TIME_PART?
          | DIGITS 'D' TIME_PART?
          | TIME_PART)
    ;
NOW : 'now' ;
START : 'start' ;
LAST : 'last' ;
NO_LITERAL : NAME_START (NAME_START | [0-9])* | . ;

fragment TWO : [0-9] [0-9] ;
fragment DATE_TEXT : [0-9] [0-9] [0-9] [0-9]+ '-' TWO '-' TWO ;
fragment ZONE : 'Z' | [+-] TWO ':' TWO ;
fragment TIME_PART
    : 'T' (DIGITS 'H' (DIGITS 'M')? (SECONDS 'S')? | DIGITS 'M' (SECONDS 'S')? | SECONDS 'S')
    ;
fragment SECONDS : DIGITS ('.' DIGITS)? ;

mode START_TAG;

TAG_NAME : NCNAME (':' NCNAME)? ;
TAG_SPACE : [ \t\r\n]+ ;
TAG_EQUAL : '=' ;
VALUE_OPEN : '"' -> pushMode(QUOTED_VALUE) ;
APOS_OPEN : '\'' -> type(VALUE_OPEN), pushMode(APOS_VALUE) ;
TAG_LBRACE : '{' -> type(LBRACE), pushMode(DEFAULT_MODE) ;
TAG_EMPTY_CLOSE : '/>' -> popMode ;
TAG_CLOSE : '>' -> mode(CONTENT) ;
TAG_INVALID : . -> type(INVALID) ;

mode QUOTED_VALUE;

VALUE_CLOSE : '"' -> popMode ;
VALUE_QUOTE : '""' ;
VALUE_TEXT : ~["{}&<]+ ;
VALUE_REFERENCE : REFERENCE_TEXT -> type(REFERENCE) ;
VALUE_LBRACES : '{{' -> type(LBRACES) ;
VALUE_RBRACES : '}}' -> type(RBRACES) ;
VALUE_LBRACE : '{' -> type(LBRACE), pushMode(DEFAULT_MODE) ;
VALUE_INVALID : . -> type(INVALID) ;

mode APOS_VALUE;

APOS_CLOSE : '\'' -> type(VALUE_CLOSE), popMode ;
APOS_QUOTE : '\'\'' -> type(VALUE_QUOTE) ;
APOS_TEXT : ~['{}&<]+ -> type(VALUE_TEXT) ;
APOS_REFERENCE : REFERENCE_TEXT -> type(REFERENCE) ;
APOS_LBRACES : '{{' -> type(LBRACES) ;
APOS_RBRACES : '}}' -> type(RBRACES) ;
APOS_LBRACE : '{' -> type(LBRACE), pushMode(DEFAULT_MODE) ;
APOS_INVALID : . -> type(INVALID) ;

mode CONTENT;

CONTENT_TEXT : ~[{}<&]+ ;
REFERENCE : REFERENCE_TEXT ;
LBRACES : '{{' ;
RBRACES : '}}' ;
CDATA : '<![CDATA[' .*? ']]>' ;
CONTENT_COMMENT : DIRECT_COMMENT_TEXT -> type(DIRECT_COMMENT) ;
CONTENT_PI : DIRECT_PI_TEXT -> type(DIRECT_PI) ;
CONTENT_LBRACE : '{' -> type(LBRACE), pushMode(DEFAULT_MODE) ;
END_TAG_OPEN : '</' -> mode(END_TAG) ;
CONTENT_TAG_OPEN : '<' -> type(TAG_OPEN), pushMode(START_TAG) ;
CONTENT_INVALID : . -> type(INVALID) ;

mode END_TAG;

END_TAG_NAME : NCNAME (':' NCNAME)? -> type(TAG_NAME) ;
END_TAG_SPACE : [ \t\r\n]+ -> type(TAG_SPACE) ;
END_TAG_CLOSE : '>' -> popMode ;
END_TAG_INVALID : . -> type(INVALID) ;

mode STRING_CONSTRUCTOR;

STRING_CONSTRUCTOR_CLOSE : ']``' -> popMode ;
INTERPOLATION_OPEN : '`{' -> pushMode(DEFAULT_MODE) ;
STRING_CONSTRUCTOR_TEXT : ~[`\]]+ | '`' | ']' ;
