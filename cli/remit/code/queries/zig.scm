(source_file . (container_doc_comment) @documentation)

(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType) @_kind)))
  (#match? @_kind "^(struct|opaque|packed|extern)")) @definition.struct
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType) @_kind))) (#match? @_kind "^enum")) @definition.enum
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType) @_kind))) (#match? @_kind "^union")) @definition.union
(VarDecl variable_type_function: (IDENTIFIER) @name (ErrorUnionExpr (SuffixExpr (ErrorSetDecl)))) @definition.enum
(Decl (FnProto function: (IDENTIFIER) @name)) @definition.function
(source_file (Decl (VarDecl variable_type_function: (IDENTIFIER) @name) @definition.variable))
(ContainerDecl (Decl (VarDecl variable_type_function: (IDENTIFIER) @name) @definition.constant))
(ContainerField field_member: (IDENTIFIER) @name) @definition.field
(ContainerField (ErrorUnionExpr (SuffixExpr variable_type_function: (IDENTIFIER) @name))
  (#not-eq? @name "_")) @definition.variant
(ErrorSetDecl field_constant: (IDENTIFIER) @name @definition.variant)
(TestDecl (STRINGLITERALSINGLE) @name) @definition.test @test

(_ "pub" @exported . (Decl (FnProto function: (IDENTIFIER) @name)))
(_ "pub" @exported . (Decl (VarDecl variable_type_function: (IDENTIFIER) @name)))

(ParamDecl parameter: (IDENTIFIER) @local)
(Statement (VarDecl variable_type_function: (IDENTIFIER) @local))
(PtrListPayload variable: (IDENTIFIER) @local)
(PtrPayload variable: (IDENTIFIER) @local)
(PtrIndexPayload variable: (IDENTIFIER) @local)

(SuffixExpr variable_type_function: (IDENTIFIER) @name . (FnCallArguments)) @reference.call
(SuffixExpr
  variable_type_function: (IDENTIFIER) @qualifier
  . (FieldOrFnCall field_access: (IDENTIFIER))* @qualifier
  . (FieldOrFnCall function_call: (IDENTIFIER) @name)) @reference.call
(SuffixExpr
  variable_type_function: (IDENTIFIER) @qualifier
  . (FieldOrFnCall field_access: (IDENTIFIER))* @qualifier
  . (FieldOrFnCall field_access: (IDENTIFIER) @name) .) @reference.use
(FieldOrFnCall function_call: (IDENTIFIER) @name) @reference.call
(ParamType (ErrorUnionExpr (SuffixExpr variable_type_function: (IDENTIFIER) @name))) @reference.type
((SuffixExpr variable_type_function: (IDENTIFIER) @name) @reference.use (#not-eq? @name "_"))

(VarDecl variable_type_function: (IDENTIFIER) @alias
  (ErrorUnionExpr (SuffixExpr
    (BUILTINIDENTIFIER) @_import
    . (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @module)))
    . (FieldOrFnCall field_access: (IDENTIFIER) @name) .))
  (#eq? @_import "@import")) @import
(VarDecl variable_type_function: (IDENTIFIER) @alias
  (ErrorUnionExpr (SuffixExpr
    (BUILTINIDENTIFIER) @_import
    (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @module))) .))
  (#eq? @_import "@import")) @import

(ParamDecl parameter: (IDENTIFIER) @typed (ParamType (ErrorUnionExpr (SuffixExpr) @type)))
(VarDecl
  variable_type_function: (IDENTIFIER) @typed
  (ErrorUnionExpr (SuffixExpr variable_type_function: (IDENTIFIER) @type . (FieldOrFnCall function_call: (IDENTIFIER)))))
