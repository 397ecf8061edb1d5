// The grammar of XCQL: XQuery 3.1 and projections in time.
//
// Operators stand in one left-recursive rule, `operation`, from tight to loose: much fewer calls than
// a rule a level. What that rule lets through and XQuery forbids (a = b = c) the tree builder rejects.
parser grammar XcqlParser;

options { tokenVocab = XcqlLexer; }

// ---------------------------------------------------------------- modules and prologs

module : versionDecl? (libraryModule | mainModule) EOF ;

versionDecl : KW_XQUERY (KW_VERSION STRING (KW_ENCODING STRING)? | KW_ENCODING STRING) SEMICOLON ;

mainModule : prolog expr ;

libraryModule : KW_MODULE KW_NAMESPACE ncName EQUAL STRING SEMICOLON prolog ;

prolog : (settingDecl SEMICOLON)* (KW_DECLARE itemDecl SEMICOLON | definedFunction SEMICOLON?)* ;

settingDecl
    : KW_DECLARE KW_NAMESPACE ncName EQUAL STRING                                # namespaceDecl
    | KW_DECLARE KW_DEFAULT (KW_ELEMENT | KW_FUNCTION) KW_NAMESPACE STRING       # defaultNamespaceDecl
    | KW_DECLARE KW_BOUNDARY_SPACE (KW_PRESERVE | KW_STRIP)                      # boundarySpaceDecl
    | KW_DECLARE KW_DEFAULT KW_COLLATION STRING                                  # defaultCollationDecl
    | KW_DECLARE KW_BASE_URI STRING                                              # baseUriDecl
    | KW_DECLARE KW_CONSTRUCTION (KW_PRESERVE | KW_STRIP)                        # constructionDecl
    | KW_DECLARE KW_ORDERING (KW_ORDERED | KW_UNORDERED)                         # orderingDecl
    | KW_DECLARE KW_DEFAULT KW_ORDER KW_EMPTY (KW_GREATEST | KW_LEAST)           # emptyOrderDecl
    | KW_DECLARE KW_COPY_NAMESPACES (KW_PRESERVE | KW_NO_PRESERVE)
      COMMA (KW_INHERIT | KW_NO_INHERIT)                                         # copyNamespacesDecl
    | KW_DECLARE (KW_DECIMAL_FORMAT eqName | KW_DEFAULT KW_DECIMAL_FORMAT)
      (ncName EQUAL STRING)*                                                     # decimalFormatDecl
    | KW_IMPORT KW_SCHEMA
      (KW_NAMESPACE ncName EQUAL | KW_DEFAULT KW_ELEMENT KW_NAMESPACE)?
      STRING locations?                                                          # schemaImport
    | KW_IMPORT KW_MODULE (KW_NAMESPACE ncName EQUAL)? STRING locations?         # moduleImport
    ;

locations : KW_AT STRING (COMMA STRING)* ;

itemDecl
    : KW_CONTEXT KW_ITEM (KW_AS itemType)? declaredValue                         # contextItemDecl
    | annotation* KW_VARIABLE DOLLAR eqName typeDeclaration? declaredValue       # variableDecl
    | annotation* KW_FUNCTION functionName parameterList typeDeclaration?
      (enclosed | KW_EXTERNAL)                                                   # functionDecl
    | KW_OPTION eqName STRING                                                    # optionDecl
    ;

declaredValue : ASSIGN exprSingle | KW_EXTERNAL (ASSIGN exprSingle)? ;

// a spelling of the papers
definedFunction
    : KW_DEFINE KW_FUNCTION functionName parameterList typeDeclaration? (enclosed | KW_EXTERNAL) ;

annotation : PERCENT eqName (LPAREN literal (COMMA literal)* RPAREN)? ;

parameterList : LPAREN (parameter (COMMA parameter)*)? RPAREN ;

parameter : DOLLAR eqName typeDeclaration? ;

typeDeclaration : KW_AS sequenceType ;

enclosed : LBRACE expr? RBRACE ;

// ---------------------------------------------------------------- expressions

expr : exprSingle (COMMA exprSingle)* ;

exprSingle
    : flwor
    | quantified
    | switchExpr
    | typeswitchExpr
    | ifExpr
    | tryExpr
    | operation
    ;

flwor : initialClause clause* KW_RETURN exprSingle sortBy? ;

initialClause : forClause | letClause | windowClause ;

clause : initialClause | whereClause | groupByClause | orderByClause | countClause ;

forClause : KW_FOR forBinding (COMMA forBinding)* ;

forBinding
    : DOLLAR eqName typeDeclaration? (KW_ALLOWING KW_EMPTY)? positionalVariable? KW_IN exprSingle ;

positionalVariable : KW_AT DOLLAR eqName ;

letClause : KW_LET letBinding (COMMA letBinding)* ;

letBinding : DOLLAR eqName typeDeclaration? ASSIGN exprSingle ;

windowClause
    : KW_FOR (KW_TUMBLING | KW_SLIDING) KW_WINDOW DOLLAR eqName typeDeclaration? KW_IN exprSingle
      (KW_START | START) windowCondition (KW_ONLY? KW_END windowCondition)?
    ;

windowCondition
    : (DOLLAR eqName)? positionalVariable? previousVariable? nextVariable? KW_WHEN exprSingle ;

previousVariable : KW_PREVIOUS DOLLAR eqName ;

nextVariable : KW_NEXT DOLLAR eqName ;

whereClause : KW_WHERE exprSingle ;

groupByClause : KW_GROUP KW_BY groupingKey (COMMA groupingKey)* ;

groupingKey : DOLLAR eqName (typeDeclaration? ASSIGN exprSingle)? (KW_COLLATION STRING)? ;

orderByClause : KW_STABLE? KW_ORDER KW_BY orderKey (COMMA orderKey)* ;

orderKey
    : exprSingle (KW_ASCENDING | KW_DESCENDING)? (KW_EMPTY (KW_GREATEST | KW_LEAST))?
      (KW_COLLATION STRING)?
    ;

countClause : KW_COUNT DOLLAR eqName ;

// a spelling of the papers
sortBy : KW_SORTBY LPAREN orderKey (COMMA orderKey)* RPAREN ;

quantified : (KW_SOME | KW_EVERY) quantifierBinding (COMMA quantifierBinding)* KW_SATISFIES exprSingle ;

quantifierBinding : DOLLAR eqName typeDeclaration? KW_IN exprSingle ;

switchExpr : KW_SWITCH LPAREN expr RPAREN switchCase+ KW_DEFAULT KW_RETURN exprSingle ;

switchCase : (KW_CASE exprSingle)+ KW_RETURN exprSingle ;

typeswitchExpr
    : KW_TYPESWITCH LPAREN expr RPAREN typeswitchCase+
      KW_DEFAULT (DOLLAR eqName)? KW_RETURN exprSingle
    ;

typeswitchCase : KW_CASE (DOLLAR eqName KW_AS)? sequenceType (PIPE sequenceType)* KW_RETURN exprSingle ;

ifExpr : KW_IF LPAREN expr RPAREN KW_THEN exprSingle KW_ELSE exprSingle ;

tryExpr : KW_TRY enclosed catchClause+ ;

catchClause : KW_CATCH nameTest (PIPE nameTest)* enclosed ;

operation
    : path                                                              # operand
    | KW_VALIDATE (KW_LAX | KW_STRICT | KW_TYPE eqName)? LBRACE expr RBRACE  # validate
    | PRAGMA+ LBRACE expr? RBRACE                                       # extension
    | operation BANG operation                                          # simpleMap
    | (PLUS | MINUS) operation                                          # unary
    | operation ARROW arrowFunction argumentList                        # arrow
    | operation KW_CAST KW_AS singleType                                # cast
    | operation KW_CASTABLE KW_AS singleType                            # castable
    | operation KW_TREAT KW_AS sequenceType                             # treat
    | operation KW_INSTANCE KW_OF sequenceType                          # instanceOf
    | operation (KW_INTERSECT | KW_EXCEPT) operation                    # binary
    | operation (KW_UNION | PIPE) operation                             # binary
    | operation (STAR | KW_DIV | KW_IDIV | KW_MOD) operation            # binary
    | operation (PLUS | MINUS) operation                                # binary
    | operation KW_TO operation                                         # binary
    | operation CONCAT operation                                        # binary
    | operation (EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL
                | KW_EQ | KW_NE | KW_LT | KW_LE | KW_GT | KW_GE
                | KW_IS | NODE_BEFORE | NODE_AFTER | ALLEN) operation   # comparison
    | operation KW_AND operation                                        # binary
    | operation KW_OR operation                                         # binary
    ;

arrowFunction : functionName | variable | parenthesized ;

// ---------------------------------------------------------------- paths

path
    : SLASH relativePath             # rootedPath
    | SLASH (projection pathPart*)?  # root
    | SLASH_SLASH relativePath       # anywherePath
    | relativePath                   # plainPath
    ;

relativePath : step pathPart* ;

// a projection takes all of the path to its left, not only the last step
pathPart : (SLASH | SLASH_SLASH) step | projection ;

projection : (QUESTION | HASH) LBRACKET exprSingle (COMMA exprSingle)? RBRACKET postfix* ;

step : primary postfix* | axisStep predicate* ;

axisStep
    : DOT_DOT                            # parentStep
    | AT nodeTest                        # attributeStep
    | ncName COLON_COLON nodeTest        # axisNodeTest
    | nodeTest                           # childStep
    ;

nodeTest : kindTest | nameTest ;

nameTest : eqName | STAR | PREFIX_WILDCARD | LOCAL_WILDCARD | BRACED_WILDCARD ;

postfix : predicate | argumentList | QUESTION lookupKey ;

predicate : LBRACKET expr RBRACKET ;

lookupKey : ncName | INTEGER | STAR | parenthesized ;

argumentList : LPAREN (argument (COMMA argument)*)? RPAREN ;

argument : exprSingle | QUESTION ;

primary
    : literal
    | variable
    | parenthesized
    | contextItem
    | functionCall
    | functionRef
    | inlineFunction
    | orderedExpr
    | directConstructor
    | computedConstructor
    | mapConstructor
    | arrayConstructor
    | stringConstructor
    | unaryLookup
    | timeLiteral
    ;

literal : STRING | INTEGER | DECIMAL | DOUBLE ;

variable : DOLLAR eqName ;

parenthesized : LPAREN expr? RPAREN ;

contextItem : DOT ;

functionCall : functionName argumentList ;

functionRef : functionName HASH INTEGER ;

inlineFunction : annotation* KW_FUNCTION parameterList typeDeclaration? enclosed ;

orderedExpr : (KW_ORDERED | KW_UNORDERED) enclosed ;

unaryLookup : QUESTION lookupKey ;

timeLiteral : DATE_LITERAL | DATE_TIME_LITERAL | DURATION_LITERAL | NOW | START | LAST ;

// ---------------------------------------------------------------- constructors

directConstructor : directElement | DIRECT_COMMENT | DIRECT_PI ;

directElement
    : TAG_OPEN TAG_NAME (TAG_SPACE attribute?)*
      (TAG_EMPTY_CLOSE | TAG_CLOSE content* END_TAG_OPEN TAG_NAME TAG_SPACE? END_TAG_CLOSE)
    ;

// the papers write id={ expr }, without quotes
attribute
    : TAG_NAME TAG_SPACE? TAG_EQUAL TAG_SPACE? (VALUE_OPEN valuePart* VALUE_CLOSE | LBRACE expr? RBRACE) ;

valuePart : VALUE_TEXT | VALUE_QUOTE | REFERENCE | LBRACES | RBRACES | enclosed ;

content
    : directConstructor | CONTENT_TEXT | REFERENCE | LBRACES | RBRACES | CDATA | enclosed ;

computedConstructor
    : KW_DOCUMENT enclosed                                                       # computedDocument
    | KW_TEXT enclosed                                                           # computedText
    | KW_COMMENT enclosed                                                        # computedComment
    | (KW_ELEMENT | KW_ATTRIBUTE | KW_PROCESSING_INSTRUCTION | KW_NAMESPACE)
      (eqName | LBRACE expr RBRACE) enclosed                                     # computedNamed
    ;

mapConstructor : KW_MAP LBRACE (mapEntry (COMMA mapEntry)*)? RBRACE ;

mapEntry : exprSingle COLON exprSingle ;

arrayConstructor : LBRACKET (exprSingle (COMMA exprSingle)*)? RBRACKET | KW_ARRAY enclosed ;

stringConstructor : STRING_CONSTRUCTOR_OPEN stringPart* STRING_CONSTRUCTOR_CLOSE ;

stringPart : STRING_CONSTRUCTOR_TEXT | INTERPOLATION_OPEN expr? INTERPOLATION_CLOSE ;

// ---------------------------------------------------------------- types

singleType : eqName QUESTION? ;

sequenceType : KW_EMPTY_SEQUENCE LPAREN RPAREN | itemType (QUESTION | STAR | PLUS)? ;

itemType
    : kindTest
    | KW_ITEM LPAREN RPAREN
    | functionTest
    | mapTest
    | arrayTest
    | eqName
    | LPAREN itemType RPAREN
    ;

functionTest
    : annotation* KW_FUNCTION LPAREN STAR RPAREN
    | annotation* KW_FUNCTION LPAREN (sequenceType (COMMA sequenceType)*)? RPAREN KW_AS sequenceType
    ;

mapTest : KW_MAP LPAREN (STAR | eqName COMMA sequenceType) RPAREN ;

arrayTest : KW_ARRAY LPAREN (STAR | sequenceType) RPAREN ;

kindTest
    : KW_NODE LPAREN RPAREN                                                      # anyKindTest
    | KW_TEXT LPAREN RPAREN                                                      # textTest
    | KW_COMMENT LPAREN RPAREN                                                   # commentTest
    | KW_NAMESPACE_NODE LPAREN RPAREN                                            # namespaceNodeTest
    | KW_PROCESSING_INSTRUCTION LPAREN (ncName | STRING)? RPAREN                 # piTest
    | KW_DOCUMENT_NODE LPAREN kindTest? RPAREN                                   # documentTest
    | (KW_ELEMENT | KW_ATTRIBUTE) LPAREN
      ((eqName | STAR) (COMMA eqName QUESTION?)?)? RPAREN                        # namedKindTest
    | (KW_SCHEMA_ELEMENT | KW_SCHEMA_ATTRIBUTE) LPAREN eqName RPAREN             # schemaTest
    ;

// ---------------------------------------------------------------- names

eqName : ncName | PREFIXED_NAME | BRACED_NAME ;

functionName : plainName | PREFIXED_NAME | BRACED_NAME ;

ncName : plainName | reservedName ;

// words that name no function, since a parenthesis after them means something else
reservedName
    : KW_ARRAY | KW_ATTRIBUTE | KW_COMMENT | KW_DOCUMENT_NODE | KW_ELEMENT | KW_EMPTY_SEQUENCE
    | KW_FUNCTION | KW_IF | KW_ITEM | KW_MAP | KW_NAMESPACE_NODE | KW_NODE
    | KW_PROCESSING_INSTRUCTION | KW_SCHEMA_ATTRIBUTE | KW_SCHEMA_ELEMENT | KW_SWITCH | KW_TEXT
    | KW_TYPESWITCH
    ;

// no keyword is reserved otherwise
plainName
    : NAME | ALLEN | NOW | START | LAST
    | KW_ALLOWING | KW_AND | KW_AS | KW_ASCENDING | KW_AT | KW_BASE_URI | KW_BOUNDARY_SPACE | KW_BY
    | KW_CASE | KW_CAST | KW_CASTABLE | KW_CATCH | KW_COLLATION | KW_CONSTRUCTION | KW_CONTEXT
    | KW_COPY_NAMESPACES | KW_COUNT | KW_DECIMAL_FORMAT | KW_DECLARE | KW_DEFAULT | KW_DEFINE
    | KW_DESCENDING | KW_DIV | KW_DOCUMENT | KW_ELSE | KW_EMPTY | KW_ENCODING | KW_END | KW_EQ
    | KW_EVERY | KW_EXCEPT | KW_EXTERNAL | KW_FOR | KW_GE | KW_GREATEST | KW_GROUP | KW_GT | KW_IDIV
    | KW_IMPORT | KW_IN | KW_INHERIT | KW_INSTANCE | KW_INTERSECT | KW_IS | KW_LAX | KW_LE
    | KW_LEAST | KW_LET | KW_LT | KW_MOD | KW_MODULE | KW_NAMESPACE | KW_NE | KW_NEXT
    | KW_NO_INHERIT | KW_NO_PRESERVE | KW_OF | KW_ONLY | KW_OPTION | KW_OR | KW_ORDER | KW_ORDERED
    | KW_ORDERING | KW_PRESERVE | KW_PREVIOUS | KW_RETURN | KW_SATISFIES | KW_SCHEMA | KW_SLIDING
    | KW_SOME | KW_SORTBY | KW_STABLE | KW_START | KW_STRICT | KW_STRIP | KW_THEN | KW_TO | KW_TREAT
    | KW_TRY | KW_TUMBLING | KW_TYPE | KW_UNION | KW_UNORDERED | KW_VALIDATE | KW_VARIABLE
    | KW_VERSION | KW_WHEN | KW_WHERE | KW_WINDOW | KW_XQUERY
    ;
