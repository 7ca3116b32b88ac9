#define FIRST 0x01 /* The first.	*/	
#define SECOND 0x02
#define joined(x, type)                \
	((x) > 0 ? /* unsigned */      \
	 (type)(x) : 0)

typedef unsigned int __bitwise order_t;

enum {
	MSG_NEW = 0x10,
#define MSG_NEW MSG_NEW
	MSG_DEL,
#define MSG_DEL MSG_DEL
};

struct message {
	order_t order;
	char __user *text;
};

int send_message(const struct message *message);
